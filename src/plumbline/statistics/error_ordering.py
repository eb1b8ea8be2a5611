"""Whether a model's uncertainty orders its errors: the AUROC.

`uncertainty` is a number for each row [rows], more for a less certain answer; `errors` is 1 for a
wrong answer and 0 for a right one [rows].
"""

import math
from dataclasses import dataclass

import numpy as np

from plumbline.statistics.intervals import Interval
from plumbline.statistics.power import DISPROOF_CONFIDENCE


@dataclass(frozen=True)
class ErrorOrdering:
    """How well one kind of uncertainty orders the errors of a model.

    `auroc` and what is of it is None where all answers are right, or all wrong.
    """

    num_rows: int
    num_errors: int
    num_values: int  # how many numbers the uncertainty has; 1: it is constant
    auroc: float | None
    auroc_interval: Interval | None
    auroc_highest: float | None  # that chance explains, at DISPROOF_LEVEL


def measure_error_ordering(
    uncertainty: np.ndarray, errors: np.ndarray, confidence: float
) -> ErrorOrdering:
    """Measure the area with its interval at `confidence`.

    Raises ValueError without rows, or where an uncertainty is not a finite number.
    """
    if not errors.size or not np.isfinite(uncertainty).all():
        raise ValueError("no rows, or an uncertainty that is not a finite number")
    num_errors = int(errors.sum())
    auroc, auroc_interval, highest = None, None, None
    if 0 < num_errors < errors.size:
        auroc, auroc_interval = estimate_auroc(uncertainty, errors, confidence)
        highest = estimate_auroc(uncertainty, errors, DISPROOF_CONFIDENCE)[1].high
    num_values = np.unique(uncertainty).size
    return ErrorOrdering(errors.size, num_errors, num_values, auroc, auroc_interval, highest)


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


def _estimate_variance(shares: np.ndarray) -> float:
    """Estimate the variance of the mean of `shares`; of one alone it is not known, and 1/4."""
    if shares.size < 2:
        return 0.25
    return float(shares.var(ddof=1)) / shares.size
