"""Whether confidence means what it says: the expected calibration error."""

from dataclasses import dataclass

import numpy as np

NUM_BINS = 15
NUM_RESAMPLES = 999


@dataclass(frozen=True)
class CalibrationFinding:
    """How far confidence and accuracy are apart, and how far they may be."""

    error: float  # expected calibration error
    highest: float  # which a model that is off by the limit in every bin shows at most


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


def measure_calibration(
    confidence: np.ndarray, hits: np.ndarray, limit: float, level: float
) -> CalibrationFinding:
    """Compute that error, and the one that a model off by `limit` everywhere shows at most.

    "At most" means in a share `level` of draws. `confidence` and `hits` are [rows].

    In each bin chance moves accuracy away from confidence, and all gaps count as positive: with 400
    rows a model that is perfectly calibrated has an error of 0.05. So answers are drawn from a
    model of the same confidences that is off by `limit` in every bin, to the side to which the
    observed one is (a parametric bootstrap, after the resampling of Broecker and Smith 2007). A
    model that is off in few bins alone, by more, shows a larger error and is refused more often.
    """
    bins = assign_bins(confidence)
    gaps = np.bincount(bins, weights=confidence - hits, minlength=NUM_BINS)
    probabilities = np.clip(confidence - limit * np.sign(gaps)[bins], 0, 1)
    random = np.random.default_rng(0)
    errors = []
    for _ in range(NUM_RESAMPLES):
        drawn = random.random(len(hits)) < probabilities
        errors.append(_average_gaps(bins, confidence - drawn))
    error = _average_gaps(bins, confidence - hits)
    return CalibrationFinding(error, float(np.quantile(errors, level)))


def _average_gaps(bins: np.ndarray, gaps: np.ndarray) -> float:
    sums = np.bincount(bins, weights=gaps, minlength=NUM_BINS)
    return float(np.abs(sums).sum() / len(gaps))
