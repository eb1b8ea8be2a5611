"""Whether confidence means what it says: the expected calibration error and its interval."""

import numpy as np

from plumbline.statistics.intervals import Interval

NUM_BINS = 15
NUM_RESAMPLES = 999


def bins(confidence: np.ndarray) -> np.ndarray:
    """The bin of each confidence [rows] among NUM_BINS of equal width."""
    found: np.ndarray = np.clip((confidence * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    return found


def expected_error(confidence: np.ndarray, hits: np.ndarray) -> float:
    """The mean gap between confidence and accuracy over bins, weighted by rows (Naeini et al. 2015)."""
    return _error(bins(confidence), confidence - hits)


def interval(confidence: np.ndarray, hits: np.ndarray, level: float) -> Interval:
    """Its basic bootstrap interval at confidence `level`, cut at 0: resampling by itself makes the error larger."""
    places, gaps, random = bins(confidence), confidence - hits, np.random.default_rng(0)
    drawn = (random.integers(len(hits), size=len(hits)) for _ in range(NUM_RESAMPLES))
    low, high = np.quantile(
        [_error(places[rows], gaps[rows]) for rows in drawn], [(1 - level) / 2, (1 + level) / 2]
    )
    twice = 2 * _error(places, gaps)
    return Interval(max(0.0, float(twice - high)), max(0.0, float(twice - low)))


def _error(places: np.ndarray, gaps: np.ndarray) -> float:
    return float(np.abs(np.bincount(places, weights=gaps, minlength=NUM_BINS)).sum() / len(gaps))
