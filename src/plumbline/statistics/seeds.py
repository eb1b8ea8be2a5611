"""What the seed of a training makes of a score: which seed ships, and what a difference must be."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plumbline.statistics.intervals import Interval


@dataclass(frozen=True)
class SeedSpread:
    """How far the scores of trainings that differ in the seed alone are from each other."""

    num_seeds: int
    mean: float  # of their mean scores
    deviation: float  # sample standard deviation of these


def estimate_spread(scores: Sequence[float]) -> SeedSpread:
    """Estimate the spread from the mean scores [seeds], two or more, of models on the same rows."""
    return SeedSpread(len(scores), float(np.mean(scores)), float(np.std(scores, ddof=1)))


def find_median_seed(scores: Mapping[int, float], *, higher_is_better: bool) -> int:
    """Return the seed with the median score; of an even number the worse of the two in the middle.

    Of equal scores the smaller seed comes first, as the worse one.
    """
    sign = 1 if higher_is_better else -1
    ordered = sorted(scores, key=lambda seed: (sign * scores[seed], seed))
    return ordered[(len(ordered) - 1) // 2]


def compute_seed_reach(spread: SeedSpread, confidence: float) -> float:
    """Compute how far a model of the same recipe may be from the mean of these, by its seed alone.

    Student's prediction interval of one more draw, at `confidence`.
    """
    from scipy.stats import t

    quantile = float(t.isf((1 - confidence) / 2, spread.num_seeds - 1))
    return quantile * math.sqrt(1 + 1 / spread.num_seeds) * spread.deviation


def widen_interval(rows: Interval, difference: float, gain: float, reach: float) -> Interval:
    """Return the interval of a `gain` of the mean over seeds, of which seeds make `reach`.

    `rows` is the interval, at the same confidence, of the `difference` that one of the seeds makes:
    what the choice of rows makes. Both parts are combined by MOVER (Zou and Donner 2008): their
    squares are added. Few seeds say little of what a seed can make, so this is wide where they make
    more than the rows; with degrees of freedom after Satterthwaite (1946) a lucky seed was promoted
    up to 19 times as often as the level says.
    """
    low = gain - math.hypot(difference - rows.low, reach)
    return Interval(low, gain + math.hypot(rows.high - difference, reach))
