"""Which candidate is the winner, and of one with several seeds which training ships.

The leader on validation wins, or the simple candidate if that is as good. Of several seeds the
median ships: train leaves all of them alike, and the answers on validation decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract.params import Evaluation
from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.task import Metric
from plumbline.evidence.compare import MeasuredGain, is_floor_reached, measure_gain
from plumbline.statistics import intervals
from plumbline.statistics.seeds import SeedSpread, estimate_spread, find_median_seed


@dataclass(frozen=True)
class Choice:
    """Who won, and why; nothing in it comes from the test split."""

    winner: str
    ranking: tuple[str, ...]  # on validation, best first
    reason: str


def choose(candidates: Sequence[Candidate], metric: Metric, limits: Evaluation) -> Choice:
    """Choose between the leader on validation and the simple candidate; scores are in one order.

    The leader wins if the interval of its gain excludes 0, or if the simple candidate is below the
    floor. The leader is the best of several: the level is divided by their number (Bonferroni).

    Where answers have a cost, the leader is the cheapest of those that are not significantly worse
    than the best one and reach the floor, and the simple candidate replaces no cheaper one.
    """
    ranked = rank_candidates(candidates, metric)
    leader, reason = ranked[0], f"{ranked[0].name} is the best on validation"
    if metric.cost_unit:
        leader, reason = _find_cheapest(ranked, metric, limits)
    winner = leader
    for simple in ranked:
        is_dearer = bool(metric.cost_unit) and _get_cost(simple) > _get_cost(leader)
        if simple.name == limits.simple_candidate and simple is not leader and not is_dearer:
            level = (1 - limits.confidence) / (len(ranked) - 1)
            winner, reason = _compare_with_simple(leader, simple, metric, limits, level)
    return Choice(winner.name, tuple(one.name for one in ranked), reason)


def rank_candidates(candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Sort best first, by the validation split alone; of equal ones the smaller bundle is first.

    A candidate with several seeds is ranked by their mean.
    """

    def make_key(candidate: Candidate) -> tuple[float, int, str]:
        score = compute_validation_score(candidate, metric)
        return -metric.sign * score, candidate.num_bytes, candidate.name

    return sorted(candidates, key=make_key)


def put_first(choice: Choice, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with the winner first, the others as on validation."""
    ranked = sorted(candidates, key=lambda candidate: choice.ranking.index(candidate.name))
    return sorted(ranked, key=lambda candidate: candidate.name != choice.winner)


def _find_cheapest(
    ranked: Sequence[Candidate], metric: Metric, limits: Evaluation
) -> tuple[Candidate, str]:
    """Return the cheapest of those as good as the first of `ranked`, and why it leads.

    Those below the floor are left out: with few rows nearly all are as good as the best.
    """
    best = ranked[0]
    equals = [best]
    for candidate in ranked[1:]:
        gain = _measure_gain(best, candidate, metric, limits.confidence)
        if gain.interval.low <= 0 and _has_floor(candidate, metric, limits):
            equals.append(candidate)
    cheapest = min(equals, key=_get_cost)
    price = f"{_get_cost(cheapest):.4g} {metric.cost_unit} an answer"
    if cheapest is best:
        return best, f"{best.name} is the best on validation, at {price}"
    return cheapest, (
        f"{cheapest.name} costs least ({price}, {best.name} {_get_cost(best):.4g}) of those that "
        f"reach the floor and that {best.name}, the best on validation, is not significantly "
        "better than"
    )


def _compare_with_simple(
    leader: Candidate, simple: Candidate, metric: Metric, limits: Evaluation, level: float
) -> tuple[Candidate, str]:
    """Return which of the two wins at this two-sided level, and why."""
    gain, interval = _measure_gain(leader, simple, metric, 1 - level)
    reason = (
        f"on validation {leader.name} is {gain:+.4f} better than {simple.name}, which costs less "
        f"({interval.low:+.4f} to {interval.high:+.4f} at {1 - level:.4g})"
    )
    if interval.low > 0:
        return leader, f"{reason}: significantly"
    if not _has_floor(simple, metric, limits):
        return leader, f"{reason}: not significantly, but {simple.name} does not reach the floor"
    return simple, f"{reason}: not significantly, so {simple.name} is the winner"


def _measure_gain(
    one: Candidate, other: Candidate, metric: Metric, confidence: float
) -> MeasuredGain:
    """Measure by how much `one` is better on validation."""
    ours, theirs = (each.validation.per_example[metric.name] for each in (one, other))
    return measure_gain(ours, theirs, metric, confidence)


def _get_cost(candidate: Candidate) -> float:
    return candidate.validation.metrics["cost"]


def _has_floor(candidate: Candidate, metric: Metric, limits: Evaluation) -> bool:
    """Whether the worse end of the interval of the score on validation reaches the floor."""
    scores = candidate.validation.per_example[metric.name]
    interval = intervals.compute_mean_interval(scores, metric.kind, limits.confidence)
    return is_floor_reached(interval, metric, limits.floor)


def build_candidate(
    name: str,
    trainings: Sequence[SeedScores],
    metric: Metric,
    latency_ms: dict[str, float],
    num_bytes: int,
) -> Candidate:
    """Describe a candidate by its trainings, of which one ships, and what that one costs."""
    shipped = choose_shipped(trainings, metric)
    seeds = tuple(trainings) if len(trainings) > 1 else ()
    scores = (shipped.validation, shipped.test)
    return Candidate(name, *scores, None, latency_ms, num_bytes, shipped=shipped, seeds=seeds)


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


def build_seed_record(candidate: Candidate, metric: Metric) -> dict[str, Any]:
    """Describe the trainings of `candidate` as evidence does; nothing where it has one seed.

    Of the test split there is no score of each seed: whoever reads it could take the luckiest.
    predictions.parquet has the answers of them all.
    """
    shipped, spread = candidate.shipped, measure_spread(candidate, metric)
    if shipped is None or spread is None:
        return {}
    validation = {
        str(each.seed): compute_mean_score(each.validation, metric) for each in candidate.seeds
    }
    return {
        "seeds": {
            "shipped": shipped.seed,
            "bundle": shipped.bundle,
            "validation": validation,
            "validation_mean": compute_validation_score(candidate, metric),
            "validation_spread": estimate_spread(list(validation.values())).deviation,
            "test_mean": spread.mean,
            "test_spread": spread.deviation,
        }
    }
