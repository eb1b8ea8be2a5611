"""Examples of text_classification as tables of pandas, and a predictor of such texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from plumbline.tables.rows import StoredRows
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split


def read_rows(folder: Path, split: str) -> pd.DataFrame:
    """Return all rows of a split."""
    rows: pd.DataFrame = read_split(folder, split).to_pandas()
    return rows


def write_rows(folder: Path, split: str, rows: pd.DataFrame) -> None:
    """Write all rows of a split."""
    write_split(folder, split, pa.Table.from_pandas(rows, preserve_index=False))


def store_table(table: pd.DataFrame) -> StoredRows:
    """Return the rows of a table as rows of a database, which are numbered by their place."""
    return StoredRows(pa.Table.from_pandas(table, preserve_index=False).to_batches(50))


class FixedAnswers:
    """Answers with the given probabilities of a, b and c for each text, as a predictor would."""

    forms = ("exact",)

    def __init__(self, table: Mapping[str, Sequence[float]]) -> None:
        self.table = table

    def predict(self, columns, top_k=3, threshold=0.0):
        pairs = [zip(self.table[text], "abc", strict=True) for text in columns["text"]]
        rows = [sorted(row, key=lambda pair: -pair[0]) for row in pairs]
        return {
            "label": [row[0][1] for row in rows],
            "score": [row[0][0] for row in rows],
            "scores": [[{"label": n, "score": p} for p, n in row[:top_k]] for row in rows],
            "abstained": [row[0][0] < threshold for row in rows],
        }
