"""A small pipeline: low-passes, and a network that is trained in seconds."""

from pathlib import Path

import numpy as np

from tasks.filter_design.data import (
    read_designs,
    read_specifications,
    write_designs,
    write_specifications,
)

PARAMS_FILE = Path(__file__).with_name("params.yaml")
# The sound candidate and its baselines have two calls of the simulator, the first champion one.
SOUND, WEAK = "calls: 2, ", "calls: 1, "
SOUND_COST, WEAK_COST = "cost: 2}", "cost: 1}"


def read_fixture() -> str:
    """Return the params.yaml of a sound pipeline."""
    return PARAMS_FILE.read_text(encoding="utf-8")


def read_weak_fixture() -> str:
    """Return the same with one call, so that the sound one is significantly better."""
    return read_fixture().replace(SOUND, WEAK).replace(SOUND_COST, WEAK_COST)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of the specifications of train, and all of validation, to `target`."""
    random = np.random.default_rng(seed)
    for split in ("train", "validation"):
        specifications = read_specifications(examples, split)
        size = len(specifications)
        picked = np.arange(size)
        if split == "train":
            picked = random.permutation(size)[: round(share * size)]
        write_specifications(target, split, [specifications[place] for place in picked])
        designs = read_designs(examples, split).iloc[picked].reset_index(drop=True)
        write_designs(target, split, designs)
