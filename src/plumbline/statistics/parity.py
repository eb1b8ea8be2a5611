"""Whether another form of a model answers as the form it was trained in: what it surely loses, where both agree."""

from typing import NamedTuple

import numpy as np

from plumbline.contract.params import Parity
from plumbline.statistics import intervals
from plumbline.statistics.intervals import Interval, Kind


class Likeness(NamedTuple):
    """One form held against the reference on the same rows."""

    gain: float  # of the mean score; negative where it loses
    interval: Interval
    agreement: (
        float | None
    )  # the share of rows with the same answer; None where answers are not equal or unequal


def likeness(
    ours: np.ndarray, theirs: np.ndarray, alike: np.ndarray | None, kind: Kind, confidence: float
) -> Likeness:
    """Scores [rows] of a form and of the reference, of which more is better, and whether the answers are `alike`."""
    found = intervals.gain(ours, theirs, kind, confidence)
    return Likeness(
        float(ours.mean() - theirs.mean()), found, None if alike is None else float(alike.mean())
    )


def close(found: Likeness, limits: Parity) -> bool:
    """Whether it surely loses no more than allowed, and agrees on enough rows; on few rows nothing is sure."""
    agrees = found.agreement is None or found.agreement >= limits.min_agreement
    return found.interval.low >= -limits.max_loss and agrees
