"""How far a measured score may be trusted: intervals of scores and of paired gains, and the exact paired test."""

from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["binary", "continuous"]

NUM_RESAMPLES = 9999
BATCH = 100  # resamples held in memory at once
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

    _check(ours)
    _check(theirs)
    if ours.shape != theirs.shape:
        raise ValueError(f"scores of {ours.size} rows cannot be paired with scores of {theirs.size}")
    if kind == "continuous":
        return _bootstrap(ours - theirs, confidence)
    only_ours, only_theirs = discordant(ours, theirs)
    n = ours.size + 2
    p, q = (only_ours + 1) / n, (only_theirs + 1) / n
    reach = float(norm.ppf((1 + confidence) / 2)) * float(np.sqrt((p + q - (p - q) ** 2) / n))
    return Interval(max(-1.0, p - q - reach), min(1.0, p - q + reach))


def discordant(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """How many rows only the first, and only the second, got right."""
    return int(np.sum((ours > 0) & (theirs <= 0))), int(np.sum((ours <= 0) & (theirs > 0)))


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The exact two-sided p-value that both are right equally often (McNemar 1947); 1 where they never differ."""
    from scipy.stats import binomtest

    only_ours, only_theirs = discordant(ours, theirs)
    total = only_ours + only_theirs
    return float(binomtest(only_ours, total, 0.5).pvalue) if total else 1.0


def _check(values: np.ndarray) -> None:
    if values.size == 0:
        raise ValueError("no rows to measure on")
    if not np.isfinite(values).all():
        raise ValueError("a score is not a finite number")


def _bootstrap(values: np.ndarray, confidence: float) -> Interval:
    """BCa (Efron 1987) with a fixed seed, since the same evidence must give the same verdict."""
    from scipy.stats import bootstrap

    if np.ptp(values) <= ALIKE * np.abs(values).max():  # every resample is alike, and BCa is undefined
        return Interval(float(values[0]), float(values[0]))
    found = bootstrap(
        (values,), np.mean, confidence_level=confidence, n_resamples=NUM_RESAMPLES, batch=BATCH, method="BCa", rng=0
    ).confidence_interval
    return Interval(float(found.low), float(found.high))
