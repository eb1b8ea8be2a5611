"""Parquet in batches of bounded size: memory does not grow, and equal rows give equal bytes."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192  # of a row group, at most, and of what is read of one at once
BATCH_BYTES = 8 * 2**20


class BatchWriter(AbstractContextManager["BatchWriter"]):
    """Rows for one file; its row groups have BATCH_ROWS rows, or BATCH_BYTES and more.

    It is one of Parquet, or with `kind` arrow one of Arrow.
    """

    def __init__(self, path: Path, schema: "pa.Schema", kind: str = "parquet") -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._waiting = schema.empty_table()
        self._writer = (
            pa.ipc.new_file(str(path), schema)
            if kind == "arrow"
            else pq.ParquetWriter(path, schema, compression="zstd")
        )

    def add(self, rows: "pa.RecordBatch") -> None:
        """Take any number of rows of the schema."""
        import pyarrow as pa

        self._waiting = pa.concat_tables([self._waiting, pa.Table.from_batches([rows])])
        while self._waiting.num_rows >= BATCH_ROWS or self._waiting.nbytes >= BATCH_BYTES:
            self._writer.write_table(self._waiting.slice(0, BATCH_ROWS).combine_chunks())
            self._waiting = self._waiting.slice(BATCH_ROWS)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._writer.write_table(self._waiting.combine_chunks())
        self._writer.close()


def read_row_groups(
    source: Path | IO[bytes], columns: Sequence[str] | None = None
) -> Iterator["pa.RecordBatch"]:
    """Yield all rows in order, at most BATCH_ROWS of one row group at a time.

    pyarrow alone fills a batch from several groups, however long the texts are for which their
    writer ended each early. A column that is not there is left out; a file that cannot be read
    raises OSError or ValueError.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
            )
