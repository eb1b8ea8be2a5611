"""Realisations seen through windows: what a predictor is asked, row by row.

Shapes: M windows, K components, L samples. A row is one window asked for one component: M * K rows, windows first.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plumbline.tasks.signal_extraction.data.setting import Setting
from plumbline.tasks.signal_extraction.data.storage import read, setting


@dataclass(frozen=True)
class Windows:
    """The windows of one split; views of its realisations, not copies."""

    setting: Setting
    realisations: list[str]  # of each window [M]
    starts: np.ndarray  # sample number in the realisation [M]
    signals: np.ndarray  # [M, L]
    components: np.ndarray  # [M, K, L]

    @property
    def ids(self) -> list[str]:
        """One for each row [M * K]."""
        return [
            f"{realisation}@{start}/{frequency:g}"
            for realisation, start in zip(self.realisations, self.starts, strict=True)
            for frequency in self.setting.frequencies_hz
        ]

    @property
    def digests(self) -> list[str]:
        """SHA-256 of the samples of each window [M]."""
        return [hashlib.sha256(np.ascontiguousarray(signal).tobytes()).hexdigest() for signal in self.signals]


def windows(examples: Path, split: str) -> Windows:
    """The windows of a split: of train at every sample, of the others `stride` apart."""
    found, made = read(examples, split), setting(examples)
    step = 1 if split == "train" else made.stride
    views = np.lib.stride_tricks.sliding_window_view(found.signals, made.window, axis=-1)[:, ::step]
    parts = np.lib.stride_tricks.sliding_window_view(found.components, made.window, axis=-1)[:, :, ::step]
    each = views.shape[1]
    return Windows(
        setting=made,
        realisations=[name for name in found.ids for _ in range(each)],
        starts=np.tile(np.arange(each) * step, len(found.ids)),
        signals=views.reshape(-1, made.window),
        components=parts.swapaxes(1, 2).reshape(-1, len(made.frequencies_hz), made.window),
    )
