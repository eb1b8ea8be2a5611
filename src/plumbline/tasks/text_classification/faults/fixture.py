"""A small pipeline: generated tickets and a linear model."""

from pathlib import Path

from plumbline.sources.shard_writer import write_split
from plumbline.tasks.text_classification.data import read_split

PARAMS_FILE = Path(__file__).with_name("params.yaml")
# What the first champion has to do with.
FEATURES, FEW_FEATURES = "max_features: 20000", "max_features: 400"


def read_fixture() -> str:
    """Return the params.yaml of a sound pipeline."""
    return PARAMS_FILE.read_text(encoding="utf-8")


def read_weak_fixture() -> str:
    """Return the same with so few features that the sound model is significantly better."""
    return read_fixture().replace(FEATURES, FEW_FEATURES)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of train, and all of validation in random order, to `target`."""
    import numpy as np

    for split in ("train", "validation"):
        rows = read_split(examples, split)
        size = round(share * len(rows)) if split == "train" else len(rows)
        picked = np.random.default_rng(seed).permutation(len(rows))[:size]
        write_split(target, split, rows.take(picked))
