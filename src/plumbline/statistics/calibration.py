"""Whether confidence means what it says: the expected calibration error."""

import numpy as np

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


def estimate_calibration_error(confidence: np.ndarray, hits: np.ndarray, level: float) -> float:
    """Estimate that error with less of what chance adds to it.

    In each bin chance moves accuracy away from confidence, and all gaps count as positive: with 400
    rows a model that is perfectly calibrated has an error of 0.05. So it is 0 unless it is larger
    than that of a calibrated model of the same confidences in a share `level` of draws (Broecker
    and Smith 2007). Beyond that, resampling adds about as much as chance did (Davison and Hinkley
    1997, section 2.1): the estimate is twice the error less the mean of the resamples.
    """
    bins = assign_bins(confidence)
    gaps = confidence - hits
    error = _average_gaps(bins, gaps)
    random = np.random.default_rng(0)
    calibrated, resampled = [], []
    for _ in range(NUM_RESAMPLES):
        drawn = random.random(len(hits)) < confidence
        calibrated.append(_average_gaps(bins, confidence - drawn))
        rows = random.integers(len(hits), size=len(hits))
        resampled.append(_average_gaps(bins[rows], gaps[rows]))
    if error <= np.quantile(calibrated, level):
        return 0.0
    return max(0.0, float(2 * error - np.mean(resampled)))


def _average_gaps(bins: np.ndarray, gaps: np.ndarray) -> float:
    sums = np.bincount(bins, weights=gaps, minlength=NUM_BINS)
    return float(np.abs(sums).sum() / len(gaps))
