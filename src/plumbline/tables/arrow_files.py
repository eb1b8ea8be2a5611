"""Parquet and Arrow (Feather, IPC) files, read in batches so that memory does not grow."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_values import list_values
from plumbline.tables.byte_stream import open_seekable
from plumbline.tables.columns import find_columns
from plumbline.tables.records import PIECE_ROWS, ReadRequest, SourceRow, WantedColumn

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 4096  # that are Python objects at once
ARROW_FILE_MAGIC = b"ARROW1"  # else it is a stream


@dataclass(frozen=True)
class RowGroups:
    """Row groups of a Parquet file that follow each other."""

    numbers: range
    num_rows_before: int

    @property
    def are_first(self) -> bool:
        """Whether the file begins with them."""
        return self.numbers.start == 0


def cut_parquet(stream: io.BufferedReader, name: str) -> list[RowGroups]:
    """Return the row groups of a Parquet file, together as many as have PIECE_ROWS rows."""
    import pyarrow.parquet as pq

    with open_seekable(stream) as file, _name_errors(name, "Parquet"):
        metadata = pq.ParquetFile(file).metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    pieces = []
    start, num_rows_before, num_rows = 0, 0, 0
    for end, size in enumerate(sizes, 1):
        num_rows += size
        if num_rows >= PIECE_ROWS or end == len(sizes):
            pieces.append(RowGroups(range(start, end), num_rows_before))
            num_rows_before += num_rows
            start, num_rows = end, 0
    return pieces or [RowGroups(range(0), 0)]


def read_parquet(
    stream: io.BufferedReader, name: str, request: ReadRequest, groups: RowGroups | None = None
) -> Iterator[SourceRow]:
    """Yield the rows of a Parquet file, or of some of its row groups, numbered from 1 in the file.

    What there is to note of the file is noted with its first row group.
    """
    import pyarrow.parquet as pq

    with open_seekable(stream) as file, _name_errors(name, "Parquet"):
        table = pq.ParquetFile(file)
        if groups is None:
            groups = RowGroups(range(table.num_row_groups), 0)
        request = request if groups.are_first else request.silence()
        find_columns(name, table.schema_arrow.names, request)
        batches = table.iter_batches(
            CHUNK_ROWS, row_groups=list(groups.numbers), columns=list(request.names)
        )
        yield from _read_batches(batches, name, request, groups.num_rows_before)


def read_arrow(stream: io.BufferedReader, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows of an Arrow file or stream, numbered from 1."""
    import pyarrow as pa

    with open_seekable(stream) as file, _name_errors(name, "Arrow"):
        if file.read(len(ARROW_FILE_MAGIC)) == ARROW_FILE_MAGIC:
            table = pa.ipc.open_file(file)
            batches = (table.get_batch(index) for index in range(table.num_record_batches))
        else:
            file.seek(0)
            table = pa.ipc.open_stream(file)
            batches = table
        find_columns(name, table.schema.names, request)
        yield from _read_batches(batches, name, request, 0)


def _read_batches(
    batches: Iterable["pa.RecordBatch"], name: str, request: ReadRequest, number: int
) -> Iterator[SourceRow]:
    """Yield all rows; `number` is that of the row before them."""
    for batch in batches:
        for start in range(0, batch.num_rows, CHUNK_ROWS):
            columns = []
            for column in request.columns:
                values = batch.column(column.name).slice(start, CHUNK_ROWS)
                columns.append(_convert_values(column, values, name, number + 1))
            for row in zip(*columns, strict=True):
                number += 1
                yield SourceRow(number, row)


def _convert_values(
    column: WantedColumn, values: "pa.Array", name: str, first: int
) -> list[str | None]:
    def describe_place(position: int) -> str:
        return f"{name}:{first + position}: column {column.name!r}"

    listed = list_values(values, describe_place)
    return [column.convert(value, f"{name}:{row}") for row, value in enumerate(listed, first)]


@contextmanager
def _name_errors(name: str, kind: str) -> Iterator[None]:
    """Turn errors of pyarrow into DataErrors that name the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{name}: cannot be read as {kind} ({reason}); write or download it again"
        ) from None
