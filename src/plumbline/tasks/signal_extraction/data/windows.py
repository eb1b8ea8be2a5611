"""Realisations seen through windows: what a predictor is asked, row by row.

Shapes: M windows, K components, L samples. A row is one window asked for one component. A held-out window is asked for
one alone: two rows that share a window are not independent, which intervals take rows to be.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plumbline.tasks.signal_extraction.data.setting import Setting
from plumbline.tasks.signal_extraction.data.storage import read, setting


@dataclass(frozen=True)
class Windows:
    """The windows of one split, and the rows that they give."""

    setting: Setting
    realisations: list[str]  # of each window [M]
    starts: np.ndarray  # sample number in the realisation [M]
    signals: np.ndarray  # [M, L]
    components: np.ndarray  # [M, K, L]
    asked_once: bool = False  # else a window is asked for all components

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The window and the component of each row, both [R]."""
        places, num = np.arange(len(self.signals)), self.components.shape[1]
        if self.asked_once:
            return places, np.random.default_rng(0).permutation(
                places % num
            )  # each as often, at no fixed place
        return np.repeat(places, num), np.tile(np.arange(num), len(places))

    @property
    def ids(self) -> list[str]:
        """One for each row [R]."""
        return [
            f"{self.realisations[window]}@{self.starts[window]}/{self.setting.frequencies_hz[part]:g}"
            for window, part in zip(*self.rows, strict=True)
        ]

    @property
    def digests(self) -> list[str]:
        """SHA-256 of the samples of each window [M]."""
        return [
            hashlib.sha256(np.ascontiguousarray(signal).tobytes()).hexdigest()
            for signal in self.signals
        ]


def windows(examples: Path, split: str) -> Windows:
    """The windows of a split: of train at every sample, of the others `stride` apart and asked once."""
    found, made = read(examples, split), setting(examples)
    step = 1 if split == "train" else made.stride
    views = np.lib.stride_tricks.sliding_window_view(found.signals, made.window, axis=-1)[:, ::step]
    parts = np.lib.stride_tricks.sliding_window_view(found.components, made.window, axis=-1)[
        :, :, ::step
    ]
    each = views.shape[1]
    return Windows(
        setting=made,
        realisations=[name for name in found.ids for _ in range(each)],
        starts=np.tile(np.arange(each) * step, len(found.ids)),
        signals=views.reshape(-1, made.window),
        components=parts.swapaxes(1, 2).reshape(-1, len(made.frequencies_hz), made.window),
        asked_once=split != "train",
    )
