"""Chooses the range that 8 bits cover: to clip rare extremes makes every other step finer."""

from typing import NamedTuple

import numpy as np

STEPS = 255
NUM_BINS = 4096
SHARES = np.linspace(1.0, 0.2, 81)  # of the whole range, that are tried


class Histogram:
    """How often values fall into equal bins from `low` to `high`."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.counts = np.zeros(NUM_BINS, np.int64)

    def add(self, values: np.ndarray) -> None:
        """Count `values`, of any shape; those outside count as the nearest end."""
        span = self.high - self.low or 1.0
        bins = ((values.ravel() - self.low) * (NUM_BINS / span)).astype(np.int64)
        self.counts += np.bincount(np.clip(bins, 0, NUM_BINS - 1), minlength=NUM_BINS)


class ActivationRange(NamedTuple):
    """Values as a whole number from 0 to 255: value = (number - zero_point) * scale."""

    scale: np.float32
    zero_point: np.uint8


def choose_range(histogram: Histogram) -> ActivationRange:
    """Choose the range whose rounding and clipping have the least squared error."""
    width = (histogram.high - histogram.low) / NUM_BINS
    values = histogram.low + width * (np.arange(NUM_BINS) + 0.5)
    errors = []
    for share in SHARES:
        scale, zero_point = fit_range(share * histogram.low, share * histogram.high)
        steps = np.clip(np.rint(values / scale) + int(zero_point), 0, STEPS)
        rounded = (steps - int(zero_point)) * scale
        errors.append(float(histogram.counts @ np.square(values - rounded)))
    share = SHARES[int(np.argmin(errors))]
    return fit_range(share * histogram.low, share * histogram.high)


def fit_range(low: float, high: float) -> ActivationRange:
    """Return the range from `low` to `high`, widened to hold 0, which is exact."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / STEPS or 1.0)
    return ActivationRange(scale, np.uint8(np.clip(np.rint(-low / scale), 0, STEPS)))
