"""Whether a form of a model answers as the form it was trained in does, and what it loses."""

from typing import NamedTuple

import numpy as np

from plumbline.contract.params import Parity
from plumbline.statistics.intervals import Interval, Kind, compute_gain_interval


class VariantParity(NamedTuple):
    """One form compared with the reference on the same rows."""

    gain: float  # of the mean score; negative where it loses
    interval: Interval  # of the gain
    agreement: float | None  # share of rows with equal answers; None where answers are numbers


def measure_parity(
    ours: np.ndarray, theirs: np.ndarray, equal: np.ndarray | None, kind: Kind, confidence: float
) -> VariantParity:
    """Compare scores [rows] of a form and of the reference, of which more is better.

    `equal` [rows] says where both give the same answer; None where answers are numbers.
    """
    interval = compute_gain_interval(ours, theirs, kind, confidence)
    gain = float(ours.mean() - theirs.mean())
    agreement = None if equal is None else float(equal.mean())
    return VariantParity(gain, interval, agreement)


def is_within_limits(parity: VariantParity, limits: Parity) -> bool:
    """Whether the form loses no more than allowed, and agrees on enough rows.

    The worse end of the interval counts: a few rows show no parity.
    """
    agrees = parity.agreement is None or parity.agreement >= limits.min_agreement
    return agrees and parity.interval.low >= -limits.max_loss
