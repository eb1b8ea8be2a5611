"""Whether a model's uncertainty orders its errors: AUROC, and the risk at every coverage.

`uncertainty` is a number for each row [rows], more for a less certain answer; `errors` is 1 for a
wrong answer and 0 for a right one [rows].
"""

import math
from dataclasses import dataclass

import numpy as np

from plumbline.statistics.intervals import Interval
from plumbline.statistics.power import DISPROOF_CONFIDENCE

NUM_RESAMPLES = 999


@dataclass(frozen=True)
class ErrorOrdering:
    """How well one kind of uncertainty orders the errors of a model.

    What is of `auroc` is None where all answers are right, or all wrong.
    """

    num_rows: int
    num_errors: int
    num_values: int  # how many numbers the uncertainty has; 1: it is constant
    auroc: float | None
    auroc_interval: Interval | None
    auroc_highest: float | None  # that chance explains, at DISPROOF_LEVEL
    aurc: float
    aurc_interval: Interval


def measure_error_ordering(
    uncertainty: np.ndarray, errors: np.ndarray, confidence: float
) -> ErrorOrdering:
    """Measure both areas with their intervals at `confidence`.

    Raises ValueError without rows, or where an uncertainty is not a finite number.
    """
    if not errors.size or not np.isfinite(uncertainty).all():
        raise ValueError("no rows, or an uncertainty that is not a finite number")
    num_errors = int(errors.sum())
    auroc, auroc_interval, highest = None, None, None
    if 0 < num_errors < errors.size:
        auroc, auroc_interval = estimate_auroc(uncertainty, errors, confidence)
        highest = estimate_auroc(uncertainty, errors, DISPROOF_CONFIDENCE)[1].high
    aurc, aurc_interval = estimate_aurc(uncertainty, errors, confidence)
    return ErrorOrdering(
        num_rows=errors.size,
        num_errors=num_errors,
        num_values=np.unique(uncertainty).size,
        auroc=auroc,
        auroc_interval=auroc_interval,
        auroc_highest=highest,
        aurc=aurc,
        aurc_interval=aurc_interval,
    )


def estimate_auroc(
    uncertainty: np.ndarray, errors: np.ndarray, confidence: float
) -> tuple[float, Interval]:
    """Estimate the probability that an error has more uncertainty than a right answer.

    Ties count half. The variance is that of DeLong, DeLong and Clarke-Pearson (1988), by the
    midranks of Sun and Xu (2014); the interval is normal, cut at 0 and 1.
    """
    from scipy.stats import norm, rankdata

    is_error = errors > 0
    ranks = rankdata(uncertainty)
    wrong, right = ranks[is_error], ranks[~is_error]
    # Of each error, the share of right answers below it, and the other way round.
    below = (wrong - rankdata(uncertainty[is_error])) / right.size
    above = 1 - (right - rankdata(uncertainty[~is_error])) / wrong.size
    area = float(below.mean())
    variance = _estimate_variance(below) + _estimate_variance(above)
    reach = float(norm.ppf((1 + confidence) / 2)) * math.sqrt(variance)
    return area, Interval(max(0.0, area - reach), min(1.0, area + reach))


def estimate_aurc(
    uncertainty: np.ndarray, errors: np.ndarray, confidence: float
) -> tuple[float, Interval]:
    """Estimate the mean risk of the n most certain answers, over all n.

    The area under the risk-coverage curve of Geifman, Uziel and El-Yaniv (2019, arXiv:1805.08206),
    with the basic bootstrap interval (Davison and Hinkley 1997), cut at 0 and 1. Among equally
    certain answers the order is random, and the mean over all orders is taken.
    """
    order = np.argsort(uncertainty, kind="stable")
    _, groups = np.unique(uncertainty[order], return_inverse=True)
    sorted_errors = errors[order]
    area = _compute_area(sorted_errors, groups)
    random = np.random.default_rng(0)
    areas = []
    for _ in range(NUM_RESAMPLES):
        rows = np.sort(random.integers(errors.size, size=errors.size))
        areas.append(_compute_area(sorted_errors[rows], groups[rows]))
    low, high = np.quantile(areas, [(1 - confidence) / 2, (1 + confidence) / 2])
    return area, Interval(max(0.0, 2 * area - float(high)), min(1.0, 2 * area - float(low)))


def _compute_area(errors: np.ndarray, groups: np.ndarray) -> float:
    """Compute the area of sorted rows; `groups` numbers equally certain ones, ascending."""
    sizes = np.bincount(groups)
    sums = np.bincount(groups, weights=errors)
    shares = sums / np.maximum(sizes, 1)
    risks = np.cumsum(shares[groups]) / np.arange(1, errors.size + 1)
    return float(risks.mean())


def _estimate_variance(shares: np.ndarray) -> float:
    """Estimate the variance of the mean of `shares`; of one alone it is not known, and 1/4."""
    if shares.size < 2:
        return 0.25
    return float(shares.var(ddof=1)) / shares.size
