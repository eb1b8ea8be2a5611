"""The simple baselines, and the best score that is possible."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from tasks.sequence_bayes.data.storage import read_prior, read_sequences
from tasks.sequence_bayes.params import SequenceParams

REPEATED = 0.9  # the probability of the last symbol


class Baseline:
    """Answers by a table: one row of probabilities for each symbol that came last, or for none."""

    forms = ("exact",)

    def __init__(self, start: np.ndarray, following: np.ndarray) -> None:
        self._table = np.vstack([following, start])

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        """Answer at every position, and after the last symbol."""
        start = len(self._table) - 1
        places = [[start, *sequence] for sequence in columns["sequence"]]
        return {
            "probabilities": [self._table[row[-1]].tolist() for row in places],
            "predictive": [self._table[row].tolist() for row in places],
        }


def build_baselines(params: SequenceParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat.

    uniform: every symbol has the same probability · frequencies: the shares of symbols in train ·
    repeat_last: the last symbol comes again with probability REPEATED
    """
    size = read_prior(examples).num_symbols
    uniform = np.full(size, 1 / size)
    counts = np.bincount(read_sequences(examples, "train").ravel(), minlength=size) + 1
    repeated = np.full((size, size), (1 - REPEATED) / (size - 1))
    np.fill_diagonal(repeated, REPEATED)
    return {
        "uniform": Baseline(uniform, np.tile(uniform, (size, 1))),
        "frequencies": Baseline(counts / counts.sum(), np.tile(counts / counts.sum(), (size, 1))),
        "repeat_last": Baseline(uniform, repeated),
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
