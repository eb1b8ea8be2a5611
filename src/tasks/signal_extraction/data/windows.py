"""Windows on disk, and what a predictor is asked of them, row by row.

Shapes: M windows, K components, L samples. A row is one window asked for one component. A held-out
window is asked for one only: two rows that share a window are not independent, and intervals
assume that rows are.
"""

import hashlib
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.errors import explain_damage
from plumbline.process.files import read_json, write_json
from tasks.signal_extraction.data.setting import Setting

SETTING = "setting.json"


@dataclass(frozen=True)
class Windows:
    """The windows of one split, and the rows that they give."""

    setting: Setting
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

    def name_rows(self, split: str) -> list[str]:
        """Return the id of each row [R], where these are the windows of `split`."""
        frequencies = self.setting.frequencies_hz
        pairs = zip(*self.rows, strict=True)
        return [f"{split}{window}/{frequencies[part]:g}" for window, part in pairs]


def write_setting(examples: Path, setting: Setting) -> None:
    """Write the setting beside the windows."""
    write_json(examples / SETTING, asdict(setting))


def read_setting(examples: Path) -> Setting:
    """Return the setting of the windows in `examples`; raises DataError if it is damaged."""
    path = examples / SETTING
    with explain_damage(path):
        values = read_json(path)
        return Setting(**values | {"frequencies_hz": tuple(values["frequencies_hz"])})


def write_windows(examples: Path, split: str, signals: np.ndarray, components: np.ndarray) -> None:
    """Write the windows of one split."""
    np.save(examples / f"{split}.signals.npy", signals, allow_pickle=False)
    np.save(examples / f"{split}.components.npy", components, allow_pickle=False)


def read_windows(examples: Path, split: str) -> Windows:
    """Read the windows of one split; DataError names what is missing or damaged."""
    with explain_damage(examples / split):
        signals = np.load(examples / f"{split}.signals.npy")
        components = np.load(examples / f"{split}.components.npy")
    return Windows(read_setting(examples), signals, components, split != "train")


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


def digest_arrays(arrays: np.ndarray) -> list[str]:
    """Return the SHA-256 of each array [M]."""
    contiguous = [np.ascontiguousarray(array) for array in arrays]
    return [hashlib.sha256(array.tobytes()).hexdigest() for array in contiguous]


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train and validation to `target`, components shuffled over all samples of the split.

    At most `max_rows` rows of train are kept.
    """
    shutil.copy2(examples / SETTING, target / SETTING)
    for split in ("train", "validation"):
        kept = read_windows(examples, split)
        num_components = kept.components.shape[1]
        size = max(1, max_rows // num_components) if split == "train" else None
        signals, components = kept.signals[:size], kept.components[:size]
        flat = components.swapaxes(0, 1).reshape(num_components, -1)
        flat = flat[:, np.random.default_rng(seed).permutation(flat.shape[1])]
        shuffled = flat.reshape(-1, *signals.shape).swapaxes(0, 1)
        write_windows(target, split, signals, np.ascontiguousarray(shuffled))
