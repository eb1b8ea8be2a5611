"""The control's examples: the right answers, each at another sample's place."""

import shutil
from pathlib import Path

import numpy as np

from tasks.signal_extraction.data.storage import (
    SETTING,
    Realisations,
    read_realisations,
    read_setting,
    write_realisations,
)


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
