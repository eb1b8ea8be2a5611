"""Whether confidence means what it says: the expected calibration error."""

from dataclasses import dataclass

import numpy as np

from plumbline.statistics.power import DISPROOF_LEVEL

NUM_BINS = 15
NUM_RESAMPLES = 9_999


@dataclass(frozen=True)
class CalibrationFinding:
    """How far confidence and accuracy are apart, and how far they may be."""

    error: float  # expected calibration error
    highest: float  # which a model that is off by the limit in the same way shows at most
    bias: float  # how far mean confidence and accuracy are apart; never more than `error`
    highest_bias: float  # as `highest`


def assign_bins(confidence: np.ndarray) -> np.ndarray:
    """Assign each confidence [rows], 0 to 1, to one of NUM_BINS bins of equal width."""
    bins: np.ndarray = np.clip((confidence * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    return bins


def compute_calibration_error(confidence: np.ndarray, hits: np.ndarray) -> float:
    """Compute the expected calibration error (Naeini et al. 2015).

    `confidence` and `hits` are [rows]. It is the mean gap between confidence and accuracy over
    bins, weighted by rows; 0 to 1.
    """
    return float(np.abs(_sum_bins(confidence, confidence - hits)).sum() / len(hits))


def measure_calibration(
    confidence: np.ndarray, hits: np.ndarray, limit: float
) -> CalibrationFinding:
    """Compute that error and the bias, and those that a model off by `limit` shows at most.

    "At most" means but for a share DISPROOF_LEVEL of draws. `confidence` and `hits` are [rows].
    The bias has no bins, so that a model that is off to one side is seen on fewer rows.

    In each bin chance moves accuracy away from confidence, and all gaps count as positive: with 400
    rows a model that is perfectly calibrated has an error of 0.05. So answers are drawn from a
    model of the same confidences that has the largest of the observed gaps, until its error is
    `limit`, and no others (a parametric bootstrap, after the resampling of Broecker and Smith
    2007). One that is off by as much in all bins shows less by chance.
    """
    error = compute_calibration_error(confidence, hits)
    bias = abs(float(np.mean(confidence - hits)))
    if error <= limit:
        return CalibrationFinding(error, limit, bias, limit)
    num_rows = _sum_bins(confidence, np.ones_like(confidence)).astype(int)
    stated = _sum_bins(confidence, confidence)
    gaps = stated - _sum_bins(confidence, hits)
    order = np.argsort(-np.abs(gaps))
    before = np.cumsum(np.abs(gaps[order])) - np.abs(gaps[order])
    kept = np.zeros(NUM_BINS)
    kept[order] = np.clip(limit * len(hits) - before, 0, np.abs(gaps[order]))
    # Each lies between the share that is stated and the one that was right.
    shares = (stated - np.sign(gaps) * kept) / np.maximum(num_rows, 1)
    shares = np.clip(shares, 0, 1)  # probabilities may add up to a little more than 1
    drawn = np.random.default_rng(0).binomial(num_rows, shares, (NUM_RESAMPLES, NUM_BINS))
    errors = np.abs(stated - drawn).sum(axis=1) / len(hits)
    biases = np.abs((stated - drawn).sum(axis=1)) / len(hits)
    highest = np.maximum(limit, np.quantile([errors, biases], 1 - DISPROOF_LEVEL / 2, axis=1))
    return CalibrationFinding(error, float(highest[0]), bias, float(highest[1]))


def _sum_bins(confidence: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum `values` [rows] in each bin of the confidence [bins]."""
    return np.bincount(assign_bins(confidence), weights=values, minlength=NUM_BINS)
