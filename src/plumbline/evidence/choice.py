"""Which candidate is the winner, and of one with several seeds which training ships.

The leader on validation wins, or the simple candidate if that is as good. Of several seeds the
median ships: train leaves all of them alike, and the answers on validation decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.task import Metric
from plumbline.evidence.compare import is_floor_reached, orient_scores
from plumbline.statistics import intervals
from plumbline.statistics.intervals import Interval
from plumbline.statistics.seeds import SeedSpread, estimate_spread, find_median_seed


@dataclass(frozen=True)
class Choice:
    """Who won, and why; nothing in it comes from the test split."""

    winner: str
    ranking: tuple[str, ...]  # on validation, best first
    reason: str
    simple: str | None = None  # that the leader was compared with
    gain: float | None = None  # of the leader over it, on validation
    interval: Interval | None = None  # of that gain
    confidence: float | None = None  # of that interval
    costs: Mapping[str, float] | None = None  # of an answer, in the mean over validation


def choose(candidates: Sequence[Candidate], metric: Metric, limits: Evaluation) -> Choice:
    """Choose the winner by the scores on validation, which must be in one order."""
    validation = {
        candidate.name: candidate.validation.per_example[metric.name] for candidate in candidates
    }
    ranking = [candidate.name for candidate in rank_candidates(candidates, metric)]
    costs = None
    if metric.cost_unit:
        costs = {candidate.name: candidate.validation.metrics["cost"] for candidate in candidates}
    return choose_winner(validation, ranking, metric, limits, costs)


def rank_candidates(candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Sort best first, by the validation split alone; of equal ones the smaller bundle is first.

    A candidate with several seeds is ranked by their mean.
    """

    def make_key(candidate: Candidate) -> tuple[float, int, str]:
        score = compute_validation_score(candidate, metric)
        return -metric.sign * score, candidate.num_bytes, candidate.name

    return sorted(candidates, key=make_key)


def put_first(choice: Choice, candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Return the candidates with the winner first, the others as on validation."""
    ranked = rank_candidates(candidates, metric)
    return sorted(ranked, key=lambda candidate: candidate.name != choice.winner)


def choose_winner(
    validation: Mapping[str, np.ndarray],
    ranking: Sequence[str],
    metric: Metric,
    limits: Evaluation,
    costs: Mapping[str, float] | None = None,
) -> Choice:
    """Choose between the leader of `ranking` and the simple candidate, by scores on validation.

    `validation` has each candidate's scores [rows], all in one order. The leader wins if the
    interval of its gain excludes 0, or if the simple candidate is below the floor. The leader is
    the best of several: the level is divided by their number (Bonferroni).

    Where answers have `costs`, the leader is the cheapest of those that are not significantly worse
    than the best one and reach the floor, and the simple candidate replaces no cheaper one.
    """
    if costs is not None:
        leader, reason = _find_cheapest(validation, ranking, metric, limits, costs)
    else:
        leader = ranking[0]
        reason = f"{leader} is the best on validation"
    chosen = _choose_simple(validation, ranking, leader, metric, limits, costs)
    return replace(chosen or Choice(leader, tuple(ranking), reason), costs=costs)


def _find_cheapest(
    validation: Mapping[str, np.ndarray],
    ranking: Sequence[str],
    metric: Metric,
    limits: Evaluation,
    costs: Mapping[str, float],
) -> tuple[str, str]:
    """Return the cheapest of those as good as the first of `ranking`, and why it leads.

    Those below the floor are left out: with few rows nearly all are as good as the best.
    """
    best = ranking[0]
    equals = [best]
    for name in ranking[1:]:
        ours, theirs = orient_scores(validation[best], validation[name], metric)
        gain = intervals.compute_gain_interval(ours, theirs, metric.kind, limits.confidence)
        if gain.low <= 0 and _has_floor(validation[name], metric, limits):
            equals.append(name)
    cheapest = min(equals, key=lambda name: costs[name])
    price = f"{costs[cheapest]:.4g} {metric.cost_unit} an answer"
    if cheapest == best:
        return best, f"{best} is the best on validation, at {price}"
    return cheapest, (
        f"{cheapest} costs least ({price}, {best} {costs[best]:.4g}) of those that reach the "
        f"floor and that {best}, the best on validation, is not significantly better than"
    )


def _choose_simple(
    validation: Mapping[str, np.ndarray],
    ranking: Sequence[str],
    leader: str,
    metric: Metric,
    limits: Evaluation,
    costs: Mapping[str, float] | None,
) -> Choice | None:
    """Compare `leader` with the simple candidate; None where it cannot win."""
    simple = limits.simple_candidate
    if simple is None or simple == leader or simple not in validation:
        return None
    if costs is not None and costs[simple] > costs[leader]:
        return None
    ours, theirs = orient_scores(validation[leader], validation[simple], metric)
    confidence = 1 - (1 - limits.confidence) / (len(ranking) - 1)
    interval = intervals.compute_gain_interval(ours, theirs, metric.kind, confidence)
    gain = float(ours.mean() - theirs.mean())
    reason = (
        f"on validation {leader} is {gain:+.4f} better than {simple}, which costs less "
        f"({interval.low:+.4f} to {interval.high:+.4f} at {confidence:.4g})"
    )
    winner = leader
    if interval.low > 0:
        reason += ": significantly"
    elif not _has_floor(validation[simple], metric, limits):
        reason += f": not significantly, but {simple} does not reach the floor"
    else:
        winner = simple
        reason += f": not significantly, so {simple} is the winner"
    return Choice(winner, tuple(ranking), reason, simple, gain, interval, confidence)


def _has_floor(scores: np.ndarray, metric: Metric, limits: Evaluation) -> bool:
    """Whether the worse end of the interval of the mean of `scores` [rows] reaches the floor."""
    interval = intervals.compute_mean_interval(scores, metric.kind, limits.confidence)
    return is_floor_reached(interval, metric, limits.floor)


def choose_shipped(seeds: Sequence[SeedScores], metric: Metric) -> SeedScores:
    """Return the training with the median score on validation: never the luckiest."""
    scores = {each.seed: compute_mean_score(each.validation, metric) for each in seeds}
    shipped = find_median_seed(scores, higher_is_better=metric.higher_is_better)
    return next(each for each in seeds if each.seed == shipped)


def compute_validation_score(candidate: Candidate, metric: Metric) -> float:
    """Compute the score that candidates are ranked by: the mean over the seeds of each."""
    if not candidate.seeds:
        return candidate.validation.metrics[metric.name]
    scores = [compute_mean_score(each.validation, metric) for each in candidate.seeds]
    return sum(scores) / len(scores)


def compute_mean_score(scores: Scores, metric: Metric) -> float:
    """Compute the score of one training from those of its rows.

    So it is, to the last bit, what follows from the rows when they are read again: two seeds may
    have equal scores.
    """
    return float(scores.per_example[metric.name].mean())


def measure_spread(candidate: Candidate, metric: Metric) -> SeedSpread | None:
    """Measure how far the trainings of `candidate` are from each other on the test split."""
    if not candidate.seeds:
        return None
    return estimate_spread([compute_mean_score(each.test, metric) for each in candidate.seeds])


def describe_seeds(candidate: Candidate, metric: Metric) -> dict[str, Any]:
    """Describe the trainings of `candidate` as evidence does; nothing where it has one seed.

    Of the test split there is no score of each seed: whoever reads it could take the luckiest.
    predictions.parquet has the answers of them all.
    """
    shipped = candidate.shipped
    if shipped is None:
        return {}
    validation = {
        str(each.seed): compute_mean_score(each.validation, metric) for each in candidate.seeds
    }
    test = [compute_mean_score(each.test, metric) for each in candidate.seeds]
    return {
        "seeds": {
            "shipped": shipped.seed,
            "bundle": shipped.bundle,
            "validation": validation,
            "validation_mean": compute_validation_score(candidate, metric),
            "validation_spread": estimate_spread(list(validation.values())).deviation,
            "test_mean": sum(test) / len(test),
            "test_spread": estimate_spread(test).deviation,
        }
    }
