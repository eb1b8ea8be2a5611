"""What `plumbline selftest` plants in a text classifier, and the small pipeline it does so in.

It has generated tickets and a linear model.
"""

from pathlib import Path

import numpy as np

from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.faults import data, models, sound
from plumbline.tasks.text_classification.faults.fixture import PARAMS, WEAKER

__all__ = ["FAULTS", "PARAMS", "WEAKER", "sample_examples"]

FAULTS = (*data.FAULTS, *models.FAULTS, *sound.FAULTS)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of train, and all of validation in random order, to `target`."""
    for split in ("train", "validation"):
        rows = read_split(examples, split)
        size = round(share * len(rows)) if split == "train" else len(rows)
        picked = np.random.default_rng(seed).permutation(len(rows))[:size]
        write_split(target, split, rows.take(picked))
