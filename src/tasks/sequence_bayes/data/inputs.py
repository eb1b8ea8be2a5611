"""What a predictor is asked: each sequence but for its last symbol, which it has to predict."""

from pathlib import Path
from typing import Any

import numpy as np

from tasks.sequence_bayes.data.storage import read_sequences


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return list_inputs(read_sequences(examples, split))


def list_inputs(sequences: np.ndarray) -> dict[str, list[Any]]:
    """Return the predictor's columns for sequences [N, T]: their first T - 1 symbols."""
    return {"sequence": sequences[:, :-1].tolist()}
