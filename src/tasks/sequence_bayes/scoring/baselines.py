"""The simple baselines, and the best score that is possible."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from tasks.sequence_bayes.data.storage import read_prior, read_sequences
from tasks.sequence_bayes.params import SequenceParams


class Constant:
    """Answers the same probabilities [V] at every position."""

    forms = ("exact",)

    def __init__(self, probabilities: np.ndarray) -> None:
        self._probabilities: list[float] = probabilities.tolist()

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Answer at every position, and after the last symbol."""
        lengths = [len(sequence) + 1 for sequence in columns["sequence"]]
        return {
            "probabilities": [self._probabilities] * len(lengths),
            "predictive": [[self._probabilities] * length for length in lengths],
        }


def build_baselines(params: SequenceParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat.

    uniform: every symbol has the same probability · frequencies: the shares of symbols in train
    """
    size = read_prior(examples).num_symbols
    counts = np.bincount(read_sequences(examples, "train").ravel(), minlength=size) + 1
    return {
        "uniform": Constant(np.full(size, 1 / size)),
        "frequencies": Constant(counts / counts.sum()),
    }


def compute_bound(params: SequenceParams, examples: Path, split: str) -> Bound:
    """Return 0 for each sequence: the mean of nobody is better than Bayes' rule, but for luck.

    A single sequence may well be predicted better; hence the bound is not `exact`.
    """
    return Bound(
        np.zeros(len(read_sequences(examples, split))),
        "regret is measured from the exact Bayesian answer to the same sequences; "
        "significantly less than 0 means that the model has seen them",
    )
