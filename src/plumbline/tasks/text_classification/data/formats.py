"""From an open file to rows, by the ending of its name."""

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data import delimited
from plumbline.tasks.text_classification.data.lines import Lines, opened
from plumbline.tasks.text_classification.data.rows import Reading, Row, as_text, positions

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
KNOWN = ".csv, .tsv, .txt (with a header), .jsonl, .ndjson, .parquet, .arrow, .feather; each also with .gz"


def read(file: IO[bytes], name: str, reading: Reading) -> Iterator[Row]:
    """Yield the rows of `file`, which is closed at the end; DataError names the file and the row."""
    reader = _reader(name)
    with file:
        yield from reader(opened(file, name), name, reading)


def check(name: str) -> None:
    """Raise DataError where no reader knows the ending of `name`."""
    _reader(name)


def _reader(name: str) -> Callable[[io.BufferedReader, str, Reading], Iterator[Row]]:
    suffix = PurePath(name.removesuffix(".gz")).suffix.lower()
    match suffix:
        case ".csv" | ".tsv" | ".txt":
            return delimited.read
        case ".jsonl" | ".ndjson":
            return _json_lines
        case ".parquet" | ".pq":
            return _parquet
        case ".arrow" | ".feather" | ".ipc":
            return _arrow
    raise DataError(f"{name}: no reader for {suffix or 'a name without an ending'}; known: {KNOWN}")


def _json_lines(stream: io.BufferedReader, name: str, reading: Reading) -> Iterator[Row]:
    lines = Lines(stream, name, reading.refuse_encoding)
    first = True
    for line in lines:
        repaired, lines.repaired = lines.repaired, False
        if not line.strip():
            continue
        place = f"{name}:{lines.number}"
        record = _object(line, place)
        if first:
            positions(name, list(record), reading)
            first = False
        values = [as_text(record.get(column), place) for column in reading.wanted]
        if (
            "\\ud" in line or "\\uD" in line
        ):  # an escape may name half of a surrogate pair, which is no character
            whole = [v and v.encode("utf-8", "replace").decode() for v in values]
            values, repaired = whole, repaired or whole != values
        yield Row(lines.number, values, repaired)
    if notice := lines.notice():
        reading.notices.append(notice)


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not a JSON object on one line ({error})") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {type(record).__name__}")
    return record


def _parquet(stream: io.BufferedReader, name: str, reading: Reading) -> Iterator[Row]:
    import pyarrow.parquet as pq

    with _seekable(stream, name) as file, _translated(name, "Parquet"):
        table = pq.ParquetFile(file)
        positions(name, table.schema_arrow.names, reading)
        yield from _batches(
            table.iter_batches(BATCH_ROWS, columns=list(reading.wanted)), name, reading
        )


def _arrow(stream: io.BufferedReader, name: str, reading: Reading) -> Iterator[Row]:
    import pyarrow as pa

    with _seekable(stream, name) as file, _translated(name, "Arrow"):
        if file.read(6) == b"ARROW1":
            table = pa.ipc.open_file(file)
            batches = (table.get_batch(index) for index in range(table.num_record_batches))
        else:
            file.seek(0)
            table = batches = pa.ipc.open_stream(file)
        positions(name, table.schema.names, reading)
        yield from _batches(batches, name, reading)


def _batches(batches: Any, name: str, reading: Reading) -> Iterator[Row]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            columns = [_texts(batch, column, start, name, number) for column in reading.wanted]
            for values in zip(*columns, strict=True):
                number += 1
                yield Row(number, values)


def _texts(
    batch: "pa.RecordBatch", column: str, start: int, name: str, number: int
) -> list[str | None]:
    values = batch.column(column).slice(start, BATCH_ROWS).to_pylist()
    return [as_text(value, f"{name}:{number + i + 1}") for i, value in enumerate(values)]


@contextmanager
def _seekable(stream: io.BufferedReader, name: str) -> Iterator[IO[bytes]]:
    """The stream's bytes in a file that can be read from its end: its own, or a temporary one for what was packed."""
    raw = stream.raw
    if not name.endswith(".gz"):
        file = raw.file  # type: ignore[attr-defined]
        file.seek(0)
        yield file
        return
    with tempfile.TemporaryFile() as unpacked:
        while block := stream.read(2**20):
            unpacked.write(block)
        unpacked.seek(0)
        yield unpacked


@contextmanager
def _translated(name: str, kind: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{name}: cannot be read as {kind} ({reason}); write or fetch it again"
        ) from None
