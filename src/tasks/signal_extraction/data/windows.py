"""Realisations as windows: what a predictor is asked, row by row.

Shapes: M windows, K components, L samples. A row is one window asked for one component. A held-out
window is asked for one only: two rows that share a window are not independent, and intervals
assume that rows are.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.storage import read_realisations, read_setting


@dataclass(frozen=True)
class Windows:
    """The windows of one split, and the rows that they give."""

    setting: Setting
    realisations: list[str]  # of each window [M]
    signals: np.ndarray  # [M, L]
    components: np.ndarray  # [M, K, L]
    asked_once: bool = False  # else a window is asked for all components

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The window and the component of each row, both [R]."""
        places = np.arange(len(self.signals))
        num_components = self.components.shape[1]
        if self.asked_once:
            # Each component equally often, in random order.
            parts = np.random.default_rng(0).permutation(places % num_components)
            return places, parts
        return np.repeat(places, num_components), np.tile(np.arange(num_components), len(places))

    @property
    def ids(self) -> list[str]:
        """One for each row [R]."""
        ids = []
        for window, part in zip(*self.rows, strict=True):
            frequency = self.setting.frequencies_hz[part]
            ids.append(f"{self.realisations[window]}/{frequency:g}")
        return ids

    @property
    def digests(self) -> list[str]:
        """SHA-256 of the samples of each window [M]."""
        return _digest_arrays(self.signals)

    @property
    def answer_digests(self) -> list[str]:
        """SHA-256 of the components of each window [M]."""
        return _digest_arrays(self.components)


def read_windows(examples: Path, split: str) -> Windows:
    """Read the windows of a split, one of each realisation."""
    found = read_realisations(examples, split)
    setting = read_setting(examples)
    return Windows(setting, found.ids, found.signals, found.components, split != "train")


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return list_inputs(read_windows(examples, split))


def list_inputs(windows: Windows) -> dict[str, list[Any]]:
    """Return the predictor's columns for these windows, row by row."""
    window, part = windows.rows
    signals = windows.signals.tolist()
    return {
        "signal": [signals[place] for place in window],
        "frequency_hz": [windows.setting.frequencies_hz[place] for place in part],
    }


def _digest_arrays(arrays: np.ndarray) -> list[str]:
    contiguous = [np.ascontiguousarray(array) for array in arrays]
    return [hashlib.sha256(array.tobytes()).hexdigest() for array in contiguous]
