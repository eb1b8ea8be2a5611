"""From an open file to a table or to rows, by the ending of its name."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import IO

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_files import ArrowTable
from plumbline.tables.batches import Batch, Table
from plumbline.tables.byte_stream import BUFFER_BYTES, GZIP_ENDING, name_read_errors, open_stream
from plumbline.tables.columns import find_columns
from plumbline.tables.csv_files import CsvTable
from plumbline.tables.jsonl_files import ARRAY_REMEDY, JsonTable
from plumbline.tables.records import ReadRequest, SourceRow

KNOWN_ENDINGS = (
    ".csv, .tsv, .txt (with a header), .jsonl, .ndjson, each also with .gz; "
    ".parquet, .arrow, .feather"
)


def open_table(
    file: IO[bytes],
    name: str,
    wanted: Sequence[str] = (),
    *,
    refuse_encoding: bool = False,
) -> Table:
    """Return the table in an open file; DataError if its beginning is not valid.

    `wanted` are names of columns of which some are expected: they tell the delimiter of CSV.
    """
    kind = find_kind(name)
    with name_read_errors(name):
        stream = open_stream(file, name)
        match kind:
            case "csv":
                return CsvTable(stream, name, wanted, refuse_encoding=refuse_encoding)
            case "jsonl":
                return JsonTable(stream, name, refuse_encoding=refuse_encoding)
    return ArrowTable(stream, name, kind)


def read_rows(file: IO[bytes], name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows of `file`, which is closed at the end; DataError names the file and row."""
    with file:
        table = open_table(file, name, request.names, refuse_encoding=request.refuse_encoding)
        if table.header or table.num_rows != 0:
            find_columns(name, table.header, request)
        for batch in table.read_batches(request.names):
            yield from _convert_rows(batch, request)
        request.notices.extend(table.describe())


def list_columns(file: IO[bytes], name: str) -> list[str]:
    """Return the names of the columns that hold single values or lists of texts, in their order."""
    with file:
        table = open_table(file, name)
    return [column for column in table.flat_columns if column.strip()]


def open_file(path: Path) -> IO[bytes]:
    """Open a file on this machine; DataError where the system refuses."""
    with name_read_errors(str(path)):
        return path.open("rb", BUFFER_BYTES)


def find_kind(name: str) -> str:
    """Return csv, jsonl, parquet or arrow; DataError where no reader knows the ending of a name."""
    text_suffix = PurePath(name.lower().removesuffix(GZIP_ENDING)).suffix
    suffix = PurePath(name.lower()).suffix
    if text_suffix in (".csv", ".tsv", ".txt"):
        return "csv"
    if text_suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix in (".arrow", ".feather", ".ipc"):
        return "arrow"
    if text_suffix == ".json":
        raise DataError(
            f"{name}: no reader for .json; if it is one array, {ARRAY_REMEDY}; "
            "if it has one object on each line, name it .jsonl"
        )
    ending = suffix or "a name without an ending"
    raise DataError(f"{name}: no reader for {ending}; known: {KNOWN_ENDINGS}")


def _convert_rows(batch: Batch, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows with the wanted columns as text."""
    numbers = batch.list_numbers()
    columns = []
    for column in request.columns:
        values = zip(batch.get_column(column.name), numbers, strict=True)
        columns.append([column.convert(value, f"{batch.name}:{row}") for value, row in values])
    repaired = batch.repaired or [False] * batch.num_rows
    return map(SourceRow, numbers, zip(*columns, strict=True), repaired)
