"""Parquet in batches of bounded size: memory does not grow, and equal rows give equal bytes."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192
BATCH_CHARS = 8 * 2**20


class BatchWriter(AbstractContextManager["BatchWriter"]):
    """Rows for one Parquet file; `size` of each bounds how much text waits in memory."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        self._rows: list[Sequence[Any]] = []
        self._size = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def add(self, row: Sequence[Any], size: int = 0) -> None:
        """Take one row, its values in the order of the schema."""
        self._rows.append(row)
        self._size += size
        if len(self._rows) >= BATCH_ROWS or self._size >= BATCH_CHARS:
            self._flush()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        arrays = []
        for column, field in zip(columns, self._schema, strict=True):
            arrays.append(pa.array(column, field.type))
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows.clear()
        self._size = 0
