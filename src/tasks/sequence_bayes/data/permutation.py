"""The control's examples: symbols that say nothing about the rest of their sequence."""

from pathlib import Path

import numpy as np

from tasks.sequence_bayes.data.storage import (
    read_prior,
    read_sequences,
    read_strata,
    write_prior,
    write_sequences,
)


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train (`max_rows` of it) and validation with symbols shuffled among sequences.

    At each position symbols change places with those of other sequences, so that only their
    frequencies are left.
    """
    write_prior(target, read_prior(examples))
    random = np.random.default_rng(seed)
    for split in ("train", "validation"):
        sequences, strata = read_sequences(examples, split), read_strata(examples, split)
        size = min(max_rows, len(sequences)) if split == "train" else len(sequences)
        shuffled = random.permuted(sequences[:size], axis=0)
        write_sequences(target, split, shuffled, strata[:size])
