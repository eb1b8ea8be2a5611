"""Rows of any number in a file of DuckDB: numbered, and joined, grouped and counted by SQL."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from plumbline.tables.records import CHUNK_CHARS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "256MB",  # for tables; the process needs some 140 MB more
    "threads": 4,  # each takes a share of the memory
    "preserve_insertion_order": "false",  # a query that needs an order asks for it
    "autoinstall_known_extensions": "false",  # nothing is downloaded
    "autoload_known_extensions": "false",
}
ROW = "#row"  # no column of data has such a name
READ_ROWS = 2048  # at once, unless they are longer than CHUNK_CHARS


class StoredRows:
    """The table `rows`, with the number of each row, from 0, in the column `#row`.

    Its file is gone with the last reference to this.
    """

    def __init__(self, batches: "Iterable[pa.RecordBatch]") -> None:
        import duckdb

        folder = tempfile.mkdtemp(prefix="plumbline-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._database = duckdb.connect(
            f"{folder}/rows", config=CONFIG | {"temp_directory": folder}
        )
        self.add_table("rows", number_rows(batches))

    def add_table(
        self,
        name: str,
        batches: "Iterable[pa.RecordBatch]",
        sql: str = "SELECT * FROM batch",
        *values: Any,
    ) -> None:
        """Create another table, of what `sql` says of each batch; there is one, maybe empty."""
        import pyarrow as pa

        self._database.begin()  # else each batch would wait for the disk
        start = f"CREATE TABLE {name} AS"
        for each in batches:  # a registered table would be kept until the end
            batch = pa.Table.from_batches([each])  # noqa: F841  SQL reads it
            self._database.execute(f"{start} {sql}", values)
            start = f"INSERT INTO {name}"
        self._database.commit()

    def query(self, sql: str, *values: Any) -> "pd.DataFrame":
        """Return what a query says; it has a `?` for each of `values`."""
        return self._database.execute(sql, values).df()

    def read(self, sql: str, *values: Any) -> "Iterator[pa.RecordBatch]":
        """Yield what a query says, a few rows at a time; others may be asked meanwhile."""
        own = self._database.cursor()
        for batch in own.sql(sql, params=values).to_arrow_reader(READ_ROWS):
            yield from split_large(batch)

    def read_parts(self, sql: str, *values: Any) -> "Iterator[pa.RecordBatch]":
        """Yield in the order of `rows` what a query says of a part of them after the other.

        `{part}` in its condition says of which. To sort all texts at once would take more memory.
        """
        num_rows = int(self.query("SELECT count(*) AS size FROM rows")["size"][0])
        for start in range(0, num_rows, READ_ROWS):
            part = f'rows."{ROW}" BETWEEN {start} AND {start + READ_ROWS - 1}'
            yield from self.read(f'{sql.format(part=part)} ORDER BY rows."{ROW}"', *values)


def number_rows(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Yield batches with the number of each row, from 0, in the column `#row`."""
    import pyarrow as pa

    start = 0
    for batch in batches:
        end = start + batch.num_rows
        yield batch.append_column(ROW, pa.array(range(start, end), pa.int64()))
        start = end


def split_large(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Halve a batch again and again until no part is over the limit, or a part is one row."""
    if batch.nbytes <= CHUNK_CHARS or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from split_large(batch.slice(0, half))
    yield from split_large(batch.slice(half))
