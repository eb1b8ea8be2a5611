"""Tables of pandas as rows of a database, and findings of such rows as a column of the table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from plumbline.tables.rows import StoredRows

BATCH_ROWS = 50


def store_table(table: pd.DataFrame) -> StoredRows:
    """Return the rows of a table, which are numbered by their place."""
    return StoredRows(pa.Table.from_pandas(table, preserve_index=False).to_batches(BATCH_ROWS))


def list_findings(findings: Mapping[int, Any], table: pd.DataFrame) -> pd.Series:
    """Return what was found of each row of the table, null where nothing was."""
    found = [findings.get(row) for row in range(len(table))]
    return pd.Series(found, index=table.index, dtype=object)
