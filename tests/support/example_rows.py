"""Examples of text_classification as tables of pandas."""

from pathlib import Path

import pandas as pd
import pyarrow as pa

from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split


def read_rows(folder: Path, split: str) -> pd.DataFrame:
    """Return all rows of a split."""
    rows: pd.DataFrame = read_split(folder, split).to_pandas()
    return rows


def write_rows(folder: Path, split: str, rows: pd.DataFrame) -> None:
    """Write all rows of a split."""
    write_split(folder, split, pa.Table.from_pandas(rows, preserve_index=False))
