"""Parquet and Arrow (Feather, IPC) files, read in batches so that memory does not grow."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.tables.batches import Batch, Table
from plumbline.tables.class_names import list_class_names, name_classes
from plumbline.tables.records import CHUNK_ROWS
from plumbline.tables.rows import split_large

if TYPE_CHECKING:
    import pyarrow as pa

READ_BYTES = 2**20  # at a time, of each column: else whole row groups stay in memory
ARROW_FILE_MAGIC = b"ARROW1"  # else it is a stream
# For bytes that are not UTF-8, times beyond the year 9999, and zones that nobody knows.
UNREADABLE = (ValueError, ArithmeticError, LookupError)


class ArrowTable(Table):
    """An open file of Parquet (`kind` is parquet) or Arrow.

    Numbered classes of the datasets library get the names that the file has for them.
    """

    def __init__(self, stream: io.BufferedReader, name: str, kind: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._name = name
        self._kind = kind
        self._num_read = 0
        with self._name_errors():
            if kind == "parquet":
                self._file = pq.ParquetFile(stream, buffer_size=READ_BYTES, pre_buffer=False)
                self.num_rows = self._file.metadata.num_rows
                schema = self._file.schema_arrow
            else:
                is_file = stream.peek().startswith(ARROW_FILE_MAGIC)
                self._file = pa.ipc.open_file(stream) if is_file else pa.ipc.open_stream(stream)
                schema = self._file.schema
        self._class_names = list_class_names(schema)
        self.schema: pa.Schema = schema
        if self._class_names:  # an empty table would import pandas
            self.schema = name_classes(schema.empty_table(), self._class_names).schema
        self.names = self.header = list(schema.names)
        self.flat_columns = [field.name for field in self.schema if _is_flat(field.type)]

    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all rows in order."""
        batches = self._read_all(columns)
        while True:
            with self._name_errors():
                batch = next(batches, None)
            if batch is None:
                return
            for start in range(0, batch.num_rows, CHUNK_ROWS):
                named = name_classes(batch.slice(start, CHUNK_ROWS), self._class_names)
                for part in split_large(named):
                    getter = partial(_list_values, part, self._name, self._num_read)
                    yield Batch(self._name, self._num_read, part, part.num_rows, getter)
                    self._num_read += part.num_rows

    def _read_all(self, columns: Sequence[str] | None) -> "Iterator[pa.RecordBatch]":
        if self._kind == "parquet":
            yield from self._file.iter_batches(CHUNK_ROWS, columns=columns, use_threads=False)
        elif hasattr(self._file, "num_record_batches"):
            for index in range(self._file.num_record_batches):
                yield self._file.get_batch(index)
        else:
            yield from self._file

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        """Turn errors of pyarrow into DataErrors that name the file."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            where = f"after row {self._num_read:,}: " if self._num_read else ""
            raise DataError(
                f"{self._name}: {where}cannot be read as {self._kind.capitalize()} ({reason}); "
                "write or download it again"
            ) from None


def _list_values(batch: "pa.RecordBatch", name: str, first_row: int, column: str) -> list[Any]:
    """Return the values of a column, None for null; DataError where one cannot be read."""
    try:
        return list(batch.column(column).to_pylist())
    except UNREADABLE as error:  # it does not say in which row
        rows = f"rows {first_row + 1:,} to {first_row + batch.num_rows:,}"
        raise DataError(
            f"{name}: {rows}: column {column!r}: cannot be read ({error}); correct it in the file"
        ) from None


def _is_flat(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return not pa.types.is_nested(kind)
