"""Specifications on disk: a table for each split, and the designs that candidates learn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, explain_damage
from tasks.filter_design.data.specifications import (
    COLUMNS,
    Specification,
    list_columns,
    parse_columns,
)

if TYPE_CHECKING:
    import pandas as pd

# `ratios`: ln of each part's value over the textbook's, in the order of the ladder.
DESIGN_COLUMNS = ("order", "topology", "ratios", "meets")
REMEDY = "run `dvc repro ingest`"


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
        return parse_columns(table)  # type: ignore[arg-type]  # a table is a mapping of columns


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
        table = pd.read_parquet(path)[list(DESIGN_COLUMNS)]
    expected = len(read_specifications(examples, split))
    if len(table) != expected:
        raise DataError(f"{path}: {len(table)} designs for {expected} specifications; {REMEDY}")
    return table


def name_rows(split: str, num_rows: int) -> list[str]:
    """Return the id of each specification of a split."""
    return [f"{split}{row}" for row in range(num_rows)]
