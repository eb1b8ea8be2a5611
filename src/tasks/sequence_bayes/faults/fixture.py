"""A small pipeline: coins, and a rule that is solved in milliseconds."""

from pathlib import Path

import numpy as np

from tasks.sequence_bayes.data import (
    read_prior,
    read_sequences,
    read_strata,
    write_prior,
    write_sequences,
)

PARAMS_FILE = Path(__file__).with_name("params.yaml")
# What the sound rule adds to each count; and what the first champion does, which learns nothing, so
# that it has no control.
LIKELY, TOO_MUCH = "alpha: one", "alpha: 3.0"
CONTROL, NO_CONTROL = "control: {candidates: [rule]", "control: {candidates: []"


def read_fixture() -> str:
    """Return the params.yaml of a sound pipeline."""
    return PARAMS_FILE.read_text(encoding="utf-8")


def read_weak_fixture() -> str:
    """Return the same with a rule so stubborn that the sound one is significantly better."""
    return read_fixture().replace(LIKELY, TOO_MUCH).replace(CONTROL, NO_CONTROL)


def sample_examples(examples: Path, target: Path, share: float, seed: int) -> None:
    """Write a random `share` of the sequences of train, and all of validation, to `target`."""
    write_prior(target, read_prior(examples))
    sequences, strata = read_sequences(examples, "train"), read_strata(examples, "train")
    size = round(share * len(sequences))
    picked = np.random.default_rng(seed).permutation(len(sequences))[:size]
    write_sequences(target, "train", sequences[picked], strata[picked])
    validation = read_sequences(examples, "validation")
    write_sequences(target, "validation", validation, read_strata(examples, "validation"))
