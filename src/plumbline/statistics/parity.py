"""Whether a form of a model answers as the form it was trained in does, and what it loses."""

from typing import NamedTuple

import numpy as np

from plumbline.contract.params import Parity
from plumbline.statistics.intervals import (
    Interval,
    Kind,
    compute_gain_interval,
    compute_proportion_interval,
)
from plumbline.statistics.power import count_explained_rows


class VariantParity(NamedTuple):
    """One form compared with the reference on the same rows."""

    gain: float  # of the mean score; negative where it loses
    interval: Interval  # of the gain
    agreement: float | None  # share of rows with equal answers; None where answers are numbers
    num_rows: int


def measure_parity(
    ours: np.ndarray, theirs: np.ndarray, equal: np.ndarray | None, kind: Kind, confidence: float
) -> VariantParity:
    """Compare scores [rows] of a form and of the reference, of which more is better.

    `equal` [rows] says where both give the same answer; None where answers are numbers.
    """
    interval = compute_gain_interval(ours, theirs, kind, confidence)
    gain = float(ours.mean() - theirs.mean())
    agreement = None if equal is None else float(equal.mean())
    return VariantParity(gain, interval, agreement, ours.size)


def is_shown(parity: VariantParity, limits: Parity, confidence: float) -> bool:
    """Whether the form loses no more than allowed, and agrees on enough rows, by the worse ends.

    A few rows show no parity.
    """
    if parity.interval.low < -limits.max_loss:
        return False
    if parity.agreement is None:
        return True
    num_equal = round(parity.agreement * parity.num_rows)
    interval = compute_proportion_interval(num_equal, parity.num_rows, confidence)
    return interval.low >= limits.min_agreement


def is_disproved(parity: VariantParity, limits: Parity) -> bool:
    """Whether the form agrees on significantly fewer rows than asked for, or its whole interval
    is beyond the loss that is allowed.
    """
    if not parity.interval.high >= -limits.max_loss:
        return True
    if parity.agreement is None:
        return False
    num_other = parity.num_rows - round(parity.agreement * parity.num_rows)
    return num_other > count_explained_rows(parity.num_rows, 1 - limits.min_agreement)
