"""Sequences on disk: plain arrays for each split, and the prior that generated them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.errors import explain_damage
from plumbline.process.files import read_json, write_json
from tasks.sequence_bayes.data.prior import SequencePrior

PRIOR = "prior.json"


def write_prior(examples: Path, prior: SequencePrior) -> None:
    """Write the prior beside the sequences."""
    write_json(examples / PRIOR, asdict(prior))


def read_prior(examples: Path) -> SequencePrior:
    """Return the prior of the sequences in `examples`; raises DataError if it is damaged."""
    path = examples / PRIOR
    with explain_damage(path):
        values = read_json(path)
        return SequencePrior(
            length=values["length"],
            names=tuple(values["names"]),
            weights=tuple(values["weights"]),
            alphas=tuple(tuple(alpha) for alpha in values["alphas"]),
        )


def write_sequences(examples: Path, split: str, sequences: np.ndarray, strata: np.ndarray) -> None:
    """Write one split: sequences [N, T] of uint8, and the number of each one's stratum [N]."""
    np.save(examples / f"{split}.sequences.npy", sequences, allow_pickle=False)
    np.save(examples / f"{split}.strata.npy", strata.astype(np.uint8), allow_pickle=False)


def read_sequences(examples: Path, split: str) -> np.ndarray:
    """Read the sequences of one split [N, T]; DataError names a file that is damaged."""
    return _read_array(examples / f"{split}.sequences.npy")


def read_strata(examples: Path, split: str) -> np.ndarray:
    """Read the number of each sequence's stratum [N]; DataError names a file that is damaged."""
    return _read_array(examples / f"{split}.strata.npy")


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return list_inputs(read_sequences(examples, split))


def list_inputs(sequences: np.ndarray) -> dict[str, list[Any]]:
    """Return the predictor's columns for sequences [N, T]: their first T - 1 symbols."""
    return {"sequence": sequences[:, :-1].tolist()}


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


def name_rows(split: str, num_rows: int) -> list[str]:
    """Return the id of each sequence of a split."""
    return [f"{split}{row}" for row in range(num_rows)]


def _read_array(path: Path) -> np.ndarray:
    with explain_damage(path):
        array: np.ndarray = np.load(path)
        return array
