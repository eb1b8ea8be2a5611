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


def estimate_calibration_error(
    confidence: np.ndarray, hits: np.ndarray, level: float
) -> tuple[float, Interval]:
    """Estimate that error without what chance adds to it, and its interval at `level`.

    In each bin chance moves accuracy away from confidence, and all gaps count as positive: with 400
    rows a model that is perfectly calibrated has an error of 0.05. Resampling adds as much again
    (Davison and Hinkley 1997, section 2.1), so twice the error less the mean of the resamples is
    nearly free of it; the interval is the basic one. All are cut at 0.
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
    interval = Interval(max(0.0, float(twice - high)), max(0.0, float(twice - low)))
    return max(0.0, float(twice - np.mean(errors))), interval


def _average_gaps(bins: np.ndarray, gaps: np.ndarray) -> float:
    sums = np.bincount(bins, weights=gaps, minlength=NUM_BINS)
    return float(np.abs(sums).sum() / len(gaps))
