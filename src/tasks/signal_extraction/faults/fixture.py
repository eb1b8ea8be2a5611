"""A small pipeline: short realisations and a bank of FIR filters, which is solved in seconds."""

import shutil
from pathlib import Path

import numpy as np

from tasks.signal_extraction.data.storage import (
    SETTING,
    Realisations,
    read_realisations,
    write_realisations,
)

PARAMS_FILE = Path(__file__).with_name("params.yaml")
# What the first champion has to do with.
TAPS, FEW_TAPS = "taps: 40", "taps: 12"


def read_fixture() -> str:
    """Return the params.yaml of a sound pipeline."""
    return PARAMS_FILE.read_text(encoding="utf-8")


def read_weak_fixture() -> str:
    """Return the same with so few taps that the sound model is significantly better."""
    return read_fixture().replace(TAPS, FEW_TAPS)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of the realisations of train, and all of validation, to `target`."""
    shutil.copy2(examples / SETTING, target / SETTING)
    train = read_realisations(examples, "train")
    size = round(share * len(train.ids))
    picked = np.random.default_rng(seed).permutation(len(train.ids))[:size]
    ids = [train.ids[row] for row in picked]
    write_realisations(
        target, "train", Realisations(ids, train.signals[picked], train.components[picked])
    )
    write_realisations(target, "validation", read_realisations(examples, "validation"))
