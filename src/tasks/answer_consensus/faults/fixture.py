"""A small pipeline: four agents and a conditional logit, which is solved in seconds."""

import shutil
from pathlib import Path

import numpy as np

from tasks.answer_consensus.data.storage import SETTING, read_answers, write_answers

PARAMS_FILE = Path(__file__).with_name("params.yaml")
# What the first champion has to do with.
MONEY, LITTLE_MONEY = "mean_cost: 0.0140", "mean_cost: 0.0080"


def read_fixture() -> str:
    """Return the params.yaml of a sound pipeline."""
    return PARAMS_FILE.read_text(encoding="utf-8")


def read_weak_fixture() -> str:
    """Return the same with so little money that the sound policy is significantly better."""
    return read_fixture().replace(MONEY, LITTLE_MONEY)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of the questions of train, and all of validation, to `target`."""
    shutil.copy2(examples / SETTING, target / SETTING)
    train = read_answers(examples, "train")
    size = round(share * len(train.ids))
    picked = np.random.default_rng(seed).permutation(len(train.ids))[:size]
    write_answers(target, "train", train.take(picked))
    write_answers(target, "validation", read_answers(examples, "validation"))
