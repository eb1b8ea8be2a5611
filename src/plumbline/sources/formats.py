"""From an open file to rows, by the ending of its name."""

import io
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import IO

from plumbline.contract.errors import DataError
from plumbline.sources.arrow_files import read_arrow, read_parquet
from plumbline.sources.byte_stream import open_stream
from plumbline.sources.csv_files import read_csv
from plumbline.sources.jsonl_files import ARRAY_REMEDY, read_jsonl
from plumbline.sources.records import ReadRequest, SourceRow

ReadFormat = Callable[[io.BufferedReader, str, ReadRequest], Iterator[SourceRow]]
KNOWN_ENDINGS = (
    ".csv, .tsv, .txt (with a header), .jsonl, .ndjson, .parquet, .arrow, .feather; "
    "each also with .gz"
)


def read_rows(file: IO[bytes], name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows of `file`, which is closed at the end; DataError names the file and row."""
    read_format = _choose_reader(name)
    with file:
        yield from read_format(open_stream(file, name), name, request)


def check_ending(name: str) -> None:
    """Raise DataError where no reader knows the ending of `name`."""
    _choose_reader(name)


def _choose_reader(name: str) -> ReadFormat:
    suffix = PurePath(name.removesuffix(".gz")).suffix.lower()
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
