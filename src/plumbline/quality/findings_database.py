"""A table of any number of rows where Great Expectations can ask it: in a file of SQLite.

Great Expectations takes its engine by the type of the table. A table in memory is asked by pandas;
one in batches is written to a temporary database, which is asked by SQL, with equal results.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "rows"


@contextmanager
def open_database(rows: "Iterator[pa.RecordBatch]") -> Iterator[tuple[Path, list[str]]]:
    """Write `rows` to a database that is there inside the block; yield it and its columns."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        path = Path(folder) / "rows.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            columns = _write_rows(connection, rows)
        yield path, columns


def _write_rows(connection: sqlite3.Connection, rows: "Iterator[pa.RecordBatch]") -> list[str]:
    connection.execute("PRAGMA journal_mode = OFF")  # nobody reads it after a crash
    connection.execute("PRAGMA synchronous = OFF")
    columns: list[str] = []
    for batch in rows:
        columns = batch.schema.names
        batch.to_pandas().to_sql(TABLE, connection, if_exists="append", index=False)
    connection.commit()
    return columns
