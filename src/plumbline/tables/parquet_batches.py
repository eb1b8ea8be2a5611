"""Parquet in batches of bounded size: memory does not grow, and equal rows give equal bytes."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

BATCH_ROWS = 8192  # of a row group, at most, and of what is read of one at once
BATCH_CHARS = 8 * 2**20


class BatchWriter(AbstractContextManager["BatchWriter"]):
    """Rows for one Parquet file; where its row groups end follows from the rows alone."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._waiting: list[pa.RecordBatch]
        self._begin()
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def add(self, rows: "pa.RecordBatch", sizes: "np.ndarray") -> None:
        """Take any number of rows, of this schema; `sizes` says about what each of them holds.

        A row group ends with the row that makes it BATCH_ROWS long, or BATCH_CHARS large.
        """
        while rows.num_rows:
            end = self._find_end(sizes)
            self._waiting.append(rows.slice(0, end))
            self._num_rows += len(sizes[:end])
            self._size += int(sizes[:end].sum())
            if self._num_rows >= BATCH_ROWS or self._size >= BATCH_CHARS:
                self._flush()
            rows = rows.slice(end)
            sizes = sizes[end:]

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        self._writer.close()

    def _find_end(self, sizes: "np.ndarray") -> int:
        """Return how many of these rows the row group takes, at most: those until it is full."""
        full = int(sizes.cumsum().searchsorted(BATCH_CHARS - self._size)) + 1
        return min(full, BATCH_ROWS - self._num_rows)

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_batch(pa.concat_batches(self._waiting))
        self._begin()

    def _begin(self) -> None:
        import pyarrow as pa

        empty = [pa.array([], field.type) for field in self._schema]
        self._waiting = [pa.record_batch(empty, schema=self._schema)]
        self._num_rows = 0
        self._size = 0


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
