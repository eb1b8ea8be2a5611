"""From an open file to rows, by the ending of its name."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePath
from typing import IO

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_files import RowGroups, cut_parquet, read_arrow, read_parquet
from plumbline.tables.byte_stream import (
    GZIP_ENDING,
    Guard,
    guard_system_errors,
    is_compressed,
    open_stream,
)
from plumbline.tables.csv_files import read_csv
from plumbline.tables.jsonl_files import ARRAY_REMEDY, read_jsonl
from plumbline.tables.records import ReadRequest, SourceRow

ReadFormat = Callable[[io.BufferedReader, str, ReadRequest], Iterator[SourceRow]]
KNOWN_ENDINGS = (
    ".csv, .tsv, .txt (with a header), .jsonl, .ndjson, .parquet, .arrow, .feather; "
    "each also with .gz"
)


def read_rows(
    file: IO[bytes],
    name: str,
    request: ReadRequest,
    groups: RowGroups | None = None,
    guard: Guard = guard_system_errors,
) -> Iterator[SourceRow]:
    """Yield the rows of `file`, which is closed at the end; DataError names the file and row.

    `groups` is a piece of a file that has pieces; None: all rows.
    """
    read_format = choose_reader(name)
    if groups is not None:
        read_format = partial(read_parquet, groups=groups)
    with file:
        yield from read_format(open_stream(file, name, guard), name, request)


def has_pieces(name: str) -> bool:
    """Whether a file of this name can be read from the middle: a compressed one cannot."""
    return choose_reader(name) is read_parquet and not is_compressed(name)


def cut_rows(file: IO[bytes], name: str, guard: Guard = guard_system_errors) -> list[RowGroups]:
    """Return the pieces of `file`, which is closed then; DataError where it is damaged."""
    with file:
        return cut_parquet(open_stream(file, name, guard), name)


def choose_reader(name: str) -> ReadFormat:
    """Return what reads a file of this name; DataError where no reader knows its ending."""
    suffix = PurePath(name.lower().removesuffix(GZIP_ENDING)).suffix
    match suffix:
        case ".csv" | ".tsv" | ".txt":
            return read_csv
        case ".jsonl" | ".ndjson":
            return read_jsonl
        case ".parquet" | ".pq":
            return read_parquet
        case ".arrow" | ".feather" | ".ipc":
            return read_arrow
    if suffix == ".json":
        raise DataError(
            f"{name}: no reader for .json; if it is one array, {ARRAY_REMEDY}; "
            "if it has one object on each line, name it .jsonl"
        )
    ending = suffix or "a name without an ending"
    raise DataError(f"{name}: no reader for {ending}; known: {KNOWN_ENDINGS}")
