"""Specifications on disk: a table for each split, and the designs that candidates learn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.errors import explain_damage
from tasks.filter_design.data.specifications import (
    COLUMNS,
    Specification,
    accept_columns,
    list_columns,
)

if TYPE_CHECKING:
    import pandas as pd

# `ratios`: ln of each part's value over the textbook's, in the order of the ladder.
DESIGN_COLUMNS = ("order", "topology", "ratios", "meets")


def write_specifications(
    examples: Path, split: str, specifications: Sequence[Specification]
) -> None:
    """Write the specifications of one split."""
    import pandas as pd

    table = pd.DataFrame(list_columns(specifications))
    table["order"] = table["order"].astype("Int64")
    table.to_parquet(examples / f"{split}.parquet", index=False)


def read_specifications(examples: Path, split: str) -> list[Specification]:
    """Read the specifications of one split, in order; DataError names a file that is damaged."""
    import pandas as pd

    path = examples / f"{split}.parquet"
    with explain_damage(path):
        table = pd.read_parquet(path)[list(COLUMNS)]
        table["order"] = table["order"].astype(float)
        return accept_columns(table)  # type: ignore[arg-type]  # a table is a mapping of columns


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return the predictor's columns for one split, in order."""
    return list_columns(read_specifications(examples, split))


def write_designs(examples: Path, split: str, designs: "pd.DataFrame") -> None:
    """Write one design for each specification of the split, in their order."""
    designs.to_parquet(examples / f"{split}.designs.parquet", index=False)


def read_designs(examples: Path, split: str) -> "pd.DataFrame":
    """Read the designs of train or validation: one row for each specification, in their order."""
    import pandas as pd

    path = examples / f"{split}.designs.parquet"
    with explain_damage(path):
        return pd.read_parquet(path)[list(DESIGN_COLUMNS)]


def name_rows(split: str, num_rows: int) -> list[str]:
    """Return the id of each specification of a split."""
    return [f"{split}{row}" for row in range(num_rows)]


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
