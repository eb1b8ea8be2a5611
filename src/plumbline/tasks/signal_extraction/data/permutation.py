"""The control's examples: the right answers, each at another sample's place."""

import shutil
from pathlib import Path

import numpy as np

from plumbline.tasks.signal_extraction.data.storage import (
    SETTING,
    Realisations,
    read,
    setting,
    write,
)


def permuted(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train and validation to `target`, their components shuffled over all samples of the split.

    At most `max_rows` rows of train are kept: realisations are left out, and the last one is cut.
    """
    shutil.copy2(examples / SETTING, target / SETTING)
    made = setting(examples)
    for split in ("train", "validation"):
        found = read(examples, split)
        if split == "train":
            found = _cut(found, max(1, max_rows // len(made.frequencies_hz)), made.window)
        num_realisations, num_samples = found.signals.shape
        flat = found.components.swapaxes(0, 1).reshape(len(made.frequencies_hz), -1)
        flat = flat[:, np.random.default_rng(seed).permutation(flat.shape[1])]
        components = flat.reshape(-1, num_realisations, num_samples).swapaxes(0, 1)
        write(
            target, split, Realisations(found.ids, found.signals, np.ascontiguousarray(components))
        )


def _cut(found: Realisations, max_windows: int, window: int) -> Realisations:
    each = found.signals.shape[1] - window + 1
    whole = max(1, max_windows // each)
    end = min(each, max_windows) + window - 1
    return Realisations(
        found.ids[:whole], found.signals[:whole, :end], found.components[:whole, :, :end]
    )
