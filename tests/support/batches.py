"""Tables of pandas as rows in batches, and findings of such rows as a column of the table."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from plumbline.contract.rows import ROW, RowBatches, read_rows

BATCH_ROWS = 50


def cut_table(table: pd.DataFrame, num_rows: int = BATCH_ROWS) -> RowBatches:
    """Return the rows of a table, so many a batch, numbered by their place."""
    whole = pa.Table.from_pandas(table.assign(**{ROW: range(len(table))}), preserve_index=False)
    return read_rows(lambda: _cut(whole, num_rows))


def join_batches(rows: RowBatches) -> pd.DataFrame:
    """Return all rows as one table."""
    return pa.Table.from_batches(list(rows)).to_pandas()


def list_findings(findings: Mapping[int, Any], table: pd.DataFrame) -> pd.Series:
    """Return what was found of each row of the table, null where nothing was."""
    found = [findings.get(row) for row in range(len(table))]
    return pd.Series(found, index=table.index, dtype=object)


def _cut(whole: pa.Table, num_rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, max(1, len(whole)), num_rows):
        yield from whole.slice(start, num_rows).combine_chunks().to_batches()
