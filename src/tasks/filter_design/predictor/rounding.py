"""Ladders are rounded to standard parts, and back to logs."""

import numpy as np

from .ladder import LN10, Ladder
from .series import find_logs10, find_steps


def round_ladders(ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the standard parts [D, P], as numbers of steps, that are nearest to `logs`."""
    series = ladder.spec.series
    targets = logs / LN10 + ladder.mantissas[topologies]
    steps = find_steps(targets, series)
    if ladder.per_branch == 1:
        return steps
    return round_resonators(ladder, targets, steps)


def round_resonators(ladder: Ladder, targets: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Round inductor and capacitor together, so that a resonator keeps its frequency."""
    series = ladder.spec.series
    shifts = np.arange(-3, 4)
    inductors = steps[:, 0::2, None] + shifts
    excess = find_logs10(inductors, series) - targets[:, 0::2, None]
    capacitors = find_steps(targets[:, 1::2, None] - excess, series)
    rest = find_logs10(capacitors, series) - targets[:, 1::2, None]
    detuning, level = (excess + rest) / ladder.width, (excess - rest) / 2
    best = np.argmin(detuning**2 + level**2, axis=2)[:, :, None]
    rounded = steps.copy()
    rounded[:, 0::2] = np.take_along_axis(inductors, best, axis=2)[:, :, 0]
    rounded[:, 1::2] = np.take_along_axis(capacitors, best, axis=2)[:, :, 0]
    return rounded


def convert_steps(ladder: Ladder, steps: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the logs of standard parts [D, P]."""
    logs10 = find_logs10(steps, ladder.spec.series)
    logs: np.ndarray = (logs10 - ladder.mantissas[topologies]) * LN10
    return logs
