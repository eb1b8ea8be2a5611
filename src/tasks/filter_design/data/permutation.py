"""The control's examples: designs that belong to other specifications."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasks.filter_design.data.storage import (
    read_designs,
    read_specifications,
    write_designs,
    write_specifications,
)

if TYPE_CHECKING:
    import pandas as pd


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train (`max_rows` of it) and validation with designs shuffled among specifications.

    They change places within kind and order, so that a design still has the right number of parts.
    """
    random = np.random.default_rng(seed)
    for split in ("train", "validation"):
        specifications = read_specifications(examples, split)
        size = min(max_rows, len(specifications)) if split == "train" else len(specifications)
        specifications = specifications[:size]
        labels = np.array([specification.label for specification in specifications])
        designs = read_designs(examples, split).iloc[:size]
        write_specifications(target, split, specifications)
        write_designs(target, split, _shuffle_within(designs, labels, random))


def _shuffle_within(
    designs: "pd.DataFrame", labels: np.ndarray, random: np.random.Generator
) -> "pd.DataFrame":
    places = np.arange(len(labels))
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        places[own] = random.permutation(own)
    return designs.iloc[places].reset_index(drop=True)
