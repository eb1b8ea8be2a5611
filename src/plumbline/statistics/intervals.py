"""How far a measured score may be trusted: intervals of scores and gains, the exact paired test."""

import functools
import math
from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["binary", "continuous"]

NUM_RESAMPLES = 9_999  # at the usual levels: 250 beyond each end at 0.05
TAIL_RESAMPLES = 25  # wanted beyond each end; finer levels draw more for it
# 75 beyond each end at a level of 0.003; below 0.001 fewer, and the time does not grow.
MAX_RESAMPLES = 49_999
NUM_KEPT = 32  # intervals: a judgement asks for some again, and so does one that repeats it
BATCH_NUMBERS = 200_000  # scores held at once while resampling: they fit into the cache
ROUNDING = 1e-12  # relative spread below which values differ by rounding alone


class Interval(NamedTuple):
    """Both ends of a two-sided confidence interval."""

    low: float
    high: float


def compute_proportion_interval(
    num_hits: int, num_rows: int, confidence: float, method: Literal["wilson", "exact"] = "wilson"
) -> Interval:
    """Compute Wilson's score interval of a share (1927), or Clopper and Pearson's exact one (1934).

    ValueError without rows.
    """
    from scipy.stats import binomtest

    if num_rows == 0:
        raise ValueError("no rows to measure a share on")
    test = binomtest(int(num_hits), int(num_rows))
    interval = test.proportion_ci(confidence, method=method)
    return Interval(float(interval.low), float(interval.high))


def compute_mean_interval(values: np.ndarray, kind: Kind, confidence: float) -> Interval:
    """Compute the interval of a mean score [rows].

    Wilson's for 0/1 scores, bootstrap-t for all others; ValueError without rows, or where a score
    is not finite.
    """
    _check_scores(values)
    if kind == "binary":
        return compute_proportion_interval(round(float(values.sum())), values.size, confidence)
    return _bootstrap_mean(values, confidence)


def compute_gain_interval(
    ours: np.ndarray, theirs: np.ndarray, kind: Kind, confidence: float
) -> Interval:
    """Compute the interval of mean(ours - theirs) on the same rows [rows].

    Bonett and Price (2012) for 0/1 scores, bootstrap-t for all others.
    """
    from scipy.stats import norm

    check_pairs(ours, theirs)
    if kind == "continuous":
        return _bootstrap_mean(ours - theirs, confidence)
    difference, error = estimate_paired_difference(ours, theirs)
    reach = float(norm.ppf((1 + confidence) / 2)) * error
    return Interval(max(-1.0, difference - reach), min(1.0, difference + reach))


def estimate_paired_difference(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Estimate the difference of two paired shares, and its standard error, which is never 0.

    `ours` and `theirs` are 0/1 scores [rows]; adjusted as by Bonett and Price (2012).
    """
    only_ours, only_theirs = count_discordant(ours, theirs)
    n = ours.size + 2
    p = (only_ours + 1) / n
    q = (only_theirs + 1) / n
    return p - q, float(np.sqrt((p + q - (p - q) ** 2) / n))


def count_discordant(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """Count the rows that only the first, and only the second, got right."""
    only_ours = np.sum((ours > 0) & (theirs <= 0))
    only_theirs = np.sum((ours <= 0) & (theirs > 0))
    return int(only_ours), int(only_theirs)


def compute_mcnemar_p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Compute the exact two-sided p that both are right equally often (McNemar 1947).

    It is 1 where the two never differ.
    """
    from scipy.stats import binomtest

    only_ours, only_theirs = count_discordant(ours, theirs)
    total = only_ours + only_theirs
    if total == 0:
        return 1.0
    return float(binomtest(only_ours, total, 0.5).pvalue)


def check_pairs(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Raise ValueError unless both are finite scores [rows] of as many rows."""
    _check_scores(ours)
    _check_scores(theirs)
    if ours.shape != theirs.shape:
        raise ValueError(
            f"scores of {ours.size} rows cannot be paired with scores of {theirs.size}"
        )


def _check_scores(values: np.ndarray) -> None:
    if values.size == 0:
        raise ValueError("no rows to measure on")
    if not np.isfinite(values).all():
        raise ValueError("a score is not a finite number")


def _bootstrap_mean(values: np.ndarray, confidence: float) -> Interval:
    """Compute the wider of two intervals of the mean: bootstrap-t and Student's, seed fixed.

    The same evidence must give the same verdict. Bootstrap-t (Efron and Tibshirani 1993, chapter
    12; DiCiccio and Efron 1996) follows the skewness of the scores, where BCa misses on the side of
    the long tail; Student's is wider where tails are heavy on both sides. The coverage of both
    together is in docs/figures/error-rates.md.
    """
    from scipy.stats import t

    # Every resample would be equal.
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return Interval(float(values[0]), float(values[0]))
    if confidence >= 1:
        return Interval(-np.inf, np.inf)
    tail = (1 - confidence) / 2
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    reach = float(t.isf(tail, values.size - 1))
    count = min(max(NUM_RESAMPLES, round(TAIL_RESAMPLES / tail)), MAX_RESAMPLES)
    low, high = _find_studentised_ends(values.tobytes(), values.dtype.str, tail, count)
    mean = float(values.mean())
    return Interval(mean - max(high, reach) * error, mean - min(low, -reach) * error)


@functools.lru_cache(maxsize=NUM_KEPT)
def _find_studentised_ends(
    scores: bytes, dtype: str, tail: float, count: int
) -> tuple[float, float]:
    """Find what a share `tail` of the studentised means of `count` resamples is below, and above.

    `scores` are the bytes of an array [rows] of that type. A resample of equal values has no
    standard error; it counts with the smallest of the others.
    """
    values = np.frombuffer(scores, dtype)
    spread = values - values.mean()
    random = np.random.default_rng(0)
    means = np.empty(count)
    squares = np.empty(count)
    step = max(1, BATCH_NUMBERS // values.size)
    for start in range(0, count, step):
        size = min(step, count - start)
        drawn = spread.take(random.integers(values.size, size=(size, values.size)))
        means[start : start + size] = drawn.mean(axis=1)
        squares[start : start + size] = np.einsum("ij,ij->i", drawn, drawn)
    variances = np.maximum(squares / values.size - means**2, 0)
    errors = np.sqrt(variances / (values.size - 1))
    is_spread = errors > math.sqrt(ROUNDING) * errors.max()  # of a root of a difference
    studentised = means / np.where(is_spread, errors, errors[is_spread].min())
    low, high = np.quantile(studentised, [tail, 1 - tail])
    return float(low), float(high)
