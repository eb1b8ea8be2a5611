"""Parquet and Arrow (Feather, IPC) files, read in batches so that memory does not grow."""

import io
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_values import list_values
from plumbline.tables.byte_stream import open_seekable
from plumbline.tables.class_names import list_class_names, name_classes, remove_class_names
from plumbline.tables.columns import find_columns
from plumbline.tables.records import (
    CHUNK_ROWS,
    ReadRequest,
    SourceRow,
    WantedColumn,
)

if TYPE_CHECKING:
    import pyarrow as pa

READ_BYTES = 2**20  # at a time, of each column: else whole row groups stay in memory
ARROW_FILE_MAGIC = b"ARROW1"  # else it is a stream


class ArrowTable:
    """An open file of Parquet (`kind` is parquet) or Arrow; close it when it was read.

    Numbered classes of the datasets library get the names that the file has for them.
    """

    def __init__(self, stream: io.BufferedReader, name: str, kind: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._name = name
        self._kind = kind
        self._stack = ExitStack()
        self.num_rows: int | None = None  # None: known when they were read
        self._num_read = 0
        with self._name_errors():
            file = self._stack.enter_context(open_seekable(stream, name))
            if kind == "parquet":
                self._file = pq.ParquetFile(file, buffer_size=READ_BYTES, pre_buffer=False)
                self.num_rows = self._file.metadata.num_rows
                schema = self._file.schema_arrow
            else:
                is_stream = file.read(len(ARROW_FILE_MAGIC)) != ARROW_FILE_MAGIC
                file.seek(0)
                self._file = pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)
                schema = self._file.schema
        self._class_names = list_class_names(schema)
        self.schema: pa.Schema = remove_class_names(schema, self._class_names)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def list_flat_columns(self) -> list[str]:
        """List the columns that hold single values, or lists of texts."""
        return [field.name for field in self.schema if _is_flat(field.type)]

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def read_batches(self, columns: list[str] | None = None) -> "Iterator[pa.RecordBatch]":
        """Yield all rows in order, with these columns at least."""
        batches = self._read_all(columns)
        while True:
            with self._name_errors():
                batch = next(batches, None)
            if batch is None:
                return
            self._num_read += batch.num_rows
            for start in range(0, batch.num_rows, CHUNK_ROWS):
                yield name_classes(batch.slice(start, CHUNK_ROWS), self._class_names)

    def _read_all(self, columns: list[str] | None) -> "Iterator[pa.RecordBatch]":
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


def read_arrow(
    stream: io.BufferedReader, name: str, kind: str, request: ReadRequest
) -> Iterator[SourceRow]:
    """Yield the rows of a Parquet or Arrow file, numbered from 1."""
    with closing(ArrowTable(stream, name, kind)) as table:
        find_columns(name, table.names, request)
        number = 0
        for batch in table.read_batches(list(request.names)):
            columns = [_convert_values(each, batch, name, number + 1) for each in request.columns]
            for row in zip(*columns, strict=True):
                number += 1
                yield SourceRow(number, row)


def _convert_values(
    column: WantedColumn, batch: "pa.RecordBatch", name: str, first: int
) -> list[str | None]:
    def describe_place(position: int) -> str:
        return f"{name}:{first + position}: column {column.name!r}"

    listed = list_values(batch.column(column.name), describe_place)
    return [column.convert(value, f"{name}:{row}") for row, value in enumerate(listed, first)]


def _is_flat(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return not pa.types.is_nested(kind)
