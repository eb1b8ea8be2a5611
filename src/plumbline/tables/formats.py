"""From an open file to rows, by the ending of its name."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import PurePath
from typing import IO

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_files import ArrowTable, read_arrow
from plumbline.tables.byte_stream import (
    GZIP_ENDING,
    Guard,
    guard_system_errors,
    open_stream,
)
from plumbline.tables.csv_files import CsvRecords, read_csv
from plumbline.tables.jsonl_files import ARRAY_REMEDY, JsonRecords, read_jsonl
from plumbline.tables.records import ReadRequest, SourceRow

KNOWN_ENDINGS = (
    ".csv, .tsv, .txt (with a header), .jsonl, .ndjson, .parquet, .arrow, .feather; "
    "each also with .gz"
)


def read_rows(
    file: IO[bytes],
    name: str,
    request: ReadRequest,
    guard: Guard = guard_system_errors,
) -> Iterator[SourceRow]:
    """Yield the rows of `file`, which is closed at the end; DataError names the file and row."""
    with file:
        kind = find_kind(name)
        stream = open_stream(file, name, guard)
        match kind:
            case "csv":
                yield from read_csv(stream, name, request)
            case "jsonl":
                yield from read_jsonl(stream, name, request)
            case _:
                yield from read_arrow(stream, name, kind, request)


def list_columns(file: IO[bytes], name: str) -> list[str]:
    """Return the names of the columns that hold single values or lists of texts, in their order.

    What has no name, or the name of another column, cannot be asked for.
    """
    with file:
        kind = find_kind(name)
        stream = open_stream(file, name)
        match kind:
            case "csv":
                names = CsvRecords(stream, name).header
            case "jsonl":
                names = _list_keys(JsonRecords(stream, name))
            case _:
                with closing(ArrowTable(stream, name, kind)) as table:
                    names = table.list_flat_columns()
    return [column for column in names if column.strip() and names.count(column) == 1]


def find_kind(name: str) -> str:
    """Return csv, jsonl, parquet or arrow; DataError where no reader knows the ending of a name."""
    suffix = PurePath(name.lower().removesuffix(GZIP_ENDING)).suffix
    match suffix:
        case ".csv" | ".tsv" | ".txt":
            return "csv"
        case ".jsonl" | ".ndjson":
            return "jsonl"
        case ".parquet" | ".pq":
            return "parquet"
        case ".arrow" | ".feather" | ".ipc":
            return "arrow"
    if suffix == ".json":
        raise DataError(
            f"{name}: no reader for .json; if it is one array, {ARRAY_REMEDY}; "
            "if it has one object on each line, name it .jsonl"
        )
    ending = suffix or "a name without an ending"
    raise DataError(f"{name}: no reader for {ending}; known: {KNOWN_ENDINGS}")


def _list_keys(records: JsonRecords) -> list[str]:
    """List the keys whose values are neither objects nor lists of other things than texts."""
    nested = {
        key
        for _, record, _ in records.head
        for key, value in record.items()
        if isinstance(value, dict) or (isinstance(value, list) and not _is_text_list(value))
    }
    return [name for name in records.names if name not in nested]


def _is_text_list(items: list[object]) -> bool:
    return all(isinstance(item, str) for item in items)
