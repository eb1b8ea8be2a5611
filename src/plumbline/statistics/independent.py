"""How far two scores that were measured on different rows may differ by chance."""

import math

import numpy as np

from plumbline.statistics.intervals import (
    Interval,
    Kind,
    compute_mean_interval,
    compute_proportion_interval,
)


def compute_share_difference_interval(
    one: tuple[int, int], other: tuple[int, int], confidence: float
) -> Interval:
    """Compute the interval of a share less another one, each given as (hits, rows).

    Newcombe's hybrid score interval (1998, method 10); ValueError without rows.
    """
    own = compute_proportion_interval(*one, confidence)
    others = compute_proportion_interval(*other, confidence)
    return _combine(one[0] / one[1], own, other[0] / other[1], others)


def compute_difference_interval(
    ours: np.ndarray, theirs: np.ndarray, kind: Kind, confidence: float
) -> Interval:
    """Compute the interval of mean(ours) - mean(theirs), each of rows of its own [rows].

    The intervals of both means are combined by MOVER (Zou and Donner 2008), which for 0/1 scores is
    Newcombe's method 10; ValueError without rows, or where a score is not finite.
    """
    own = compute_mean_interval(ours, kind, confidence)
    others = compute_mean_interval(theirs, kind, confidence)
    return _combine(float(ours.mean()), own, float(theirs.mean()), others)


def _combine(one: float, own: Interval, other: float, others: Interval) -> Interval:
    difference = one - other
    low = difference - math.hypot(one - own.low, others.high - other)
    high = difference + math.hypot(own.high - one, other - others.low)
    return Interval(low, high)
