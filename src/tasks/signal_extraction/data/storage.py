"""Realisations on disk: plain arrays, their ids, and the setting that generated them."""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from plumbline.contract.errors import explain_damage
from plumbline.process.files import read_json, write_json
from tasks.signal_extraction.data.setting import Setting

SETTING = "setting.json"


@dataclass(frozen=True)
class Realisations:
    """One split: R realisations of K components and N samples each."""

    ids: list[str]
    signals: np.ndarray  # [R, N]
    components: np.ndarray  # [R, K, N]


def write_setting(examples: Path, setting: Setting) -> None:
    """Write the setting beside the realisations."""
    write_json(examples / SETTING, asdict(setting))


def read_setting(examples: Path) -> Setting:
    """Return the setting of the realisations in `examples`; raises DataError if it is damaged."""
    path = examples / SETTING
    with explain_damage(path):
        values = read_json(path)
        return Setting(**values | {"frequencies_hz": tuple(values["frequencies_hz"])})


def write_realisations(examples: Path, split: str, realisations: Realisations) -> None:
    """Write one split."""
    (examples / f"{split}.json").write_text(json.dumps(realisations.ids), encoding="utf-8")
    np.save(examples / f"{split}.signals.npy", realisations.signals, allow_pickle=False)
    np.save(examples / f"{split}.components.npy", realisations.components, allow_pickle=False)


def read_realisations(examples: Path, split: str) -> Realisations:
    """Read one split; raises DataError that names the file that is missing or damaged."""
    with explain_damage(examples / split):
        ids = read_json(examples / f"{split}.json")
        signals = np.load(examples / f"{split}.signals.npy")
        components = np.load(examples / f"{split}.components.npy")
        if not len(ids) == len(signals) == len(components):
            raise ValueError(f"{len(ids)} ids for {len(signals)} signals")
    return Realisations(ids, signals, components)


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train and validation to `target`, components shuffled over all samples of the split.

    At most `max_rows` rows of train are kept.
    """
    shutil.copy2(examples / SETTING, target / SETTING)
    num_components = len(read_setting(examples).frequencies_hz)
    for split in ("train", "validation"):
        kept = read_realisations(examples, split)
        if split == "train":
            size = max(1, max_rows // num_components)
            kept = Realisations(kept.ids[:size], kept.signals[:size], kept.components[:size])
        num_realisations, num_samples = kept.signals.shape
        flat = kept.components.swapaxes(0, 1).reshape(num_components, -1)
        flat = flat[:, np.random.default_rng(seed).permutation(flat.shape[1])]
        shuffled = flat.reshape(-1, num_realisations, num_samples).swapaxes(0, 1)
        components = np.ascontiguousarray(shuffled)
        write_realisations(target, split, Realisations(kept.ids, kept.signals, components))
