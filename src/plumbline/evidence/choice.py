"""Which candidate is the winner: the leader on validation, or the simple one if that is as good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.task import Metric
from plumbline.evidence.compare import orient_scores
from plumbline.statistics import intervals
from plumbline.statistics.intervals import Interval


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


def choose_winner(
    validation: Mapping[str, np.ndarray],
    ranking: Sequence[str],
    metric: Metric,
    limits: Evaluation,
) -> Choice:
    """Choose between the leader of `ranking` and the simple candidate, by scores on validation.

    `validation` has each candidate's scores [rows], all in one order. The leader wins if the
    interval of its gain excludes 0, or if the simple candidate is below the floor. The leader is
    the best of several: the level is divided by their number (Bonferroni).
    """
    leader = ranking[0]
    simple = limits.simple_candidate
    if simple is None or simple == leader or simple not in validation:
        return Choice(leader, tuple(ranking), f"{leader} is the best on validation")
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
    elif not is_floor_reached(validation[simple], metric, limits):
        reason += f": not significantly, but {simple} does not reach the floor"
    else:
        winner = simple
        reason += f": not significantly, so {simple} is the winner"
    return Choice(winner, tuple(ranking), reason, simple, gain, interval, confidence)


def is_floor_reached(scores: np.ndarray, metric: Metric, limits: Evaluation) -> bool:
    """Whether the worse end of the interval of the mean of `scores` [rows] reaches the floor."""
    low, high = intervals.compute_mean_interval(scores, metric.kind, limits.confidence)
    return low >= limits.floor if metric.higher_is_better else high <= limits.floor
