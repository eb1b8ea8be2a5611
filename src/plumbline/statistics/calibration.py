"""Whether confidence means what it says: the expected calibration error and its interval."""

import numpy as np

from plumbline.statistics.intervals import Interval

NUM_BINS = 15
NUM_RESAMPLES = 999


def assign_bins(confidence: np.ndarray) -> np.ndarray:
    """Assign each confidence [rows], 0 to 1, to one of NUM_BINS bins of equal width."""
    bins: np.ndarray = np.clip((confidence * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    return bins


def compute_calibration_error(confidence: np.ndarray, hits: np.ndarray) -> float:
    """Compute the expected calibration error (Naeini et al. 2015).

    `confidence` and `hits` are [rows]. It is the mean gap between confidence and accuracy over
    bins, weighted by rows; 0 to 1.
    """
    return _average_gaps(assign_bins(confidence), confidence - hits)


def compute_calibration_interval(
    confidence: np.ndarray, hits: np.ndarray, level: float
) -> Interval:
    """Compute the basic bootstrap interval of that error at the confidence `level`, cut at 0.

    The basic interval (Davison and Hinkley 1997) reflects the resamples at the estimate: resampling
    by itself makes the error larger.
    """
    bins = assign_bins(confidence)
    gaps = confidence - hits
    random = np.random.default_rng(0)
    errors = []
    for _ in range(NUM_RESAMPLES):
        rows = random.integers(len(hits), size=len(hits))
        errors.append(_average_gaps(bins[rows], gaps[rows]))
    low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2])
    twice = 2 * _average_gaps(bins, gaps)
    return Interval(max(0.0, float(twice - high)), max(0.0, float(twice - low)))


def _average_gaps(bins: np.ndarray, gaps: np.ndarray) -> float:
    sums = np.bincount(bins, weights=gaps, minlength=NUM_BINS)
    return float(np.abs(sums).sum() / len(gaps))
