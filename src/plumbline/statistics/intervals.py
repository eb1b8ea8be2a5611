"""How far a measured score may be trusted: intervals of scores and of paired gains, and the exact paired test."""

from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["binary", "continuous"]

NUM_RESAMPLES = 9_999  # at the usual levels: 250 beyond each end at 0.05
TAIL_RESAMPLES = 25  # wanted beyond each end; finer levels draw more for it
MAX_RESAMPLES = 49_999  # 25 beyond each end at a level of 0.001; below that their number falls, not the time grows
BATCH_NUMBERS = 1_000_000  # scores held in memory at once while resampling
ALIKE = 1e-12  # relative spread below which values differ by rounding alone


class Interval(NamedTuple):
    """Both ends of a two-sided confidence interval."""

    low: float
    high: float


def proportion(num_hits: int, num_rows: int, confidence: float) -> Interval:
    """Wilson's score interval of a share (Wilson 1927); ValueError where there are no rows."""
    from scipy.stats import binomtest

    if num_rows == 0:
        raise ValueError("no rows to measure a share on")
    found = binomtest(int(num_hits), int(num_rows)).proportion_ci(confidence, method="wilson")
    return Interval(float(found.low), float(found.high))


def mean(values: np.ndarray, kind: Kind, confidence: float) -> Interval:
    """The interval of a mean score [rows]: Wilson for 0/1 scores, the BCa bootstrap for all others."""
    _check(values)
    if kind == "binary":
        return proportion(round(float(values.sum())), values.size, confidence)
    return _bootstrap(values, confidence)


def gain(ours: np.ndarray, theirs: np.ndarray, kind: Kind, confidence: float) -> Interval:
    """The interval of mean(ours - theirs) on the same rows: Bonett and Price (2012) for 0/1 scores, else BCa."""
    from scipy.stats import norm

    check_pairs(ours, theirs)
    if kind == "continuous":
        return _bootstrap(ours - theirs, confidence)
    difference, error = adjusted(ours, theirs)
    reach = float(norm.ppf((1 + confidence) / 2)) * error
    return Interval(max(-1.0, difference - reach), min(1.0, difference + reach))


def adjusted(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Bonett and Price's (2012) adjusted difference of two paired shares, and its standard error, never 0."""
    only_ours, only_theirs = discordant(ours, theirs)
    n = ours.size + 2
    p, q = (only_ours + 1) / n, (only_theirs + 1) / n
    return p - q, float(np.sqrt((p + q - (p - q) ** 2) / n))


def discordant(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """How many rows only the first, and only the second, got right."""
    return int(np.sum((ours > 0) & (theirs <= 0))), int(np.sum((ours <= 0) & (theirs > 0)))


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The exact two-sided p-value that both are right equally often (McNemar 1947); 1 where they never differ."""
    from scipy.stats import binomtest

    only_ours, only_theirs = discordant(ours, theirs)
    total = only_ours + only_theirs
    return float(binomtest(only_ours, total, 0.5).pvalue) if total else 1.0


def check_pairs(ours: np.ndarray, theirs: np.ndarray) -> None:
    """ValueError unless both are finite scores [rows] of as many rows."""
    _check(ours)
    _check(theirs)
    if ours.shape != theirs.shape:
        raise ValueError(
            f"scores of {ours.size} rows cannot be paired with scores of {theirs.size}"
        )


def _check(values: np.ndarray) -> None:
    if values.size == 0:
        raise ValueError("no rows to measure on")
    if not np.isfinite(values).all():
        raise ValueError("a score is not a finite number")


def _bootstrap(values: np.ndarray, confidence: float) -> Interval:
    """BCa of the mean (Efron 1987) with a fixed seed, since the same evidence must give the same verdict.

    SciPy draws the resamples. Its own BCa leaves out every row in turn, which takes time quadratic in the rows;
    for a mean the acceleration has a closed form: a sixth of the skewness over the root of the number of rows.
    """
    from scipy.stats import bootstrap, norm

    if (
        np.ptp(values) <= ALIKE * np.abs(values).max()
    ):  # every resample is alike, and BCa is undefined
        return Interval(float(values[0]), float(values[0]))
    if confidence >= 1:
        return Interval(-np.inf, np.inf)
    tail = (1 - confidence) / 2
    drawn = bootstrap(
        (values,),
        np.mean,
        n_resamples=min(max(NUM_RESAMPLES, round(TAIL_RESAMPLES / tail)), MAX_RESAMPLES),
        batch=max(1, BATCH_NUMBERS // values.size),
        method="percentile",
        rng=0,
    ).bootstrap_distribution
    observed, spread = values.mean(), values - values.mean()
    bias = norm.ppf((np.mean(drawn < observed) + np.mean(drawn <= observed)) / 2)
    acceleration = np.sum(spread**3) / (6 * np.sum(spread**2) ** 1.5)
    ends = bias + norm.ppf([tail, 1 - tail])
    low, high = np.quantile(drawn, norm.cdf(bias + ends / (1 - acceleration * ends)))
    return Interval(float(low), float(high))
