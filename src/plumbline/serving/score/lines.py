"""Rows of text files, plain or gzip, read strictly: what is broken is an error with its line, not a smaller file."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.errors import DataError
from plumbline.serving.score.chunks import DELIMITERS, MAX_CHARS, MAX_ROWS, Chunk, Form

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LINE = 16 * 2**20  # bytes
BOM = b"\xef\xbb\xbf"

Record = tuple[int, str, Any]  # the line it begins on, its text, what was read from it


class Lines:
    """Lines as text; `number` is that of the last one, `taken` those since it was emptied, `end` how the first ends."""

    def __init__(self, path: Path, form: Form) -> None:
        self.number, self.taken, self.end = 0, list[str](), "\n"
        self.path = path
        self._file = path.open("rb")
        self._size = max(1, path.stat().st_size)
        self._stream = io.BufferedReader(gzip.GzipFile(fileobj=self._file), 2**20) if form.packed else self._file

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._read()
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) == MAX_LINE:
            raise DataError(f"{self.here}: a line of more than {MAX_LINE // 2**20} MiB; is it text?")
        try:
            line = raw.removeprefix(BOM).decode() if self.number == 1 else raw.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.here}: not UTF-8 (byte 0x{error.object[error.start]:02x}); save it as UTF-8"
            ) from None
        if self.number == 1 and line.endswith("\r\n"):
            self.end = "\r\n"
        self.taken.append(line)
        return line

    @property
    def here(self) -> str:
        """The file and the line that was read last."""
        return f"{self.path}: line {self.number:,}"

    @property
    def share(self) -> float:
        """How much of the file was read."""
        return self._file.tell() / self._size

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._file.close()

    def _read(self) -> bytes:
        try:
            return self._stream.readline(MAX_LINE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{self.path}: after line {self.number:,}: damaged or cut short gzip file ({error}); fetch it again"
            ) from None
        except OSError as error:
            raise DataError(f"{self.path}: after line {self.number:,}: cannot be read ({error})") from None


class Delimited:
    """CSV or TSV with a header; empty lines are no rows."""

    def __init__(self, path: Path, form: Form) -> None:
        csv.field_size_limit(MAX_LINE)  # 131,072 by default
        self._lines = Lines(path, form)
        self._records = _records(self._lines, DELIMITERS[form.kind])
        header = next(self._records, None)
        if header is None:
            raise DataError(f"{path}: the file is empty; expected a header")
        _, self.header, self.names = header
        for name in self.names:
            if self.names.count(name) > 1:
                raise DataError(f"{path}: two columns are called {name!r}; rename one")
        self.end = self._lines.end

    def schema(self) -> "pa.Schema":
        """All text: what looks like a number may be a code with leading zeros."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self.names])

    def chunks(self) -> Iterator[Chunk]:
        """Rows in the order of the file; each has as many cells as the header."""

        def column(name: str, rows: Sequence[list[str]]) -> list[str]:
            place = self.names.index(name)
            return [row[place] for row in rows]

        yield from _chunks(self._checked(), self._lines, column)

    def _checked(self) -> Iterator[Record]:
        for line, raw, cells in self._records:
            if len(cells) != len(self.names):
                raise DataError(
                    f"{self._lines.here}: {len(cells)} cells where the header has {len(self.names)}; put double quotes "
                    "around a cell that holds a separator"
                )
            yield line, raw, cells

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


class JsonLines:
    """One JSON object a line; empty lines are no rows.

    `answers` are names that no object may have. With `alike`, none may have a name that none of the first chunk has.
    """

    header, end = "", "\n"

    def __init__(self, path: Path, form: Form, answers: Sequence[str], alike: bool) -> None:
        self._path, self._lines = path, Lines(path, form)
        self._answers, self._alike, self._settled = set(answers), alike, False
        self._known: dict[str, None] = {}
        self._rest = _chunks(self._records(), self._lines, _picked)
        self._head = [chunk] if (chunk := next(self._rest, None)) else []
        self.names, self._settled = list(self._known), True

    def schema(self) -> "pa.Schema":
        """What the first chunk holds; DataError for a column in which values are not of one kind."""
        import pyarrow as pa

        def kind(name: str) -> pa.DataType:
            try:
                found = pa.infer_type(self._head[0].column(name))
            except pa.ArrowException as error:
                raise DataError(f"{self._path}: {name}: more than one kind of value ({error}); write .jsonl") from None
            return pa.string() if pa.types.is_null(found) else found

        return pa.schema([(name, kind(name)) for name in self.names])

    def chunks(self) -> Iterator[Chunk]:
        """Rows in the order of the file."""
        return chain(self._head, self._rest)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _records(self) -> Iterator[Record]:
        for line in self._lines:
            if text := line.strip():
                record = _object(text, self._lines.here)
                if not record.keys() <= self._known.keys():
                    self._learn(record)
                yield self._lines.number, text, record
            self._lines.taken.clear()

    def _learn(self, record: dict[str, Any]) -> None:
        """Take up names that were not met before."""
        new = [name for name in record if name not in self._known]
        if taken := self._answers & set(new):
            raise DataError(f"{self._lines.here}: has {min(taken)!r}, as an answer is called; add --prefix predicted_")
        if self._settled and self._alike:
            raise DataError(f"{self._lines.here}: {new[0]!r} is in no row of the first {MAX_ROWS:,}; write .jsonl")
        self._known.update(dict.fromkeys(new))


def _chunks(
    records: Iterator[Record], lines: Lines, column: Callable[[str, Sequence[Any]], list[Any]]
) -> Iterator[Chunk]:
    first, size, numbers, raws, values = 0, 0, list[int](), list[str](), list[Any]()

    def chunk() -> Chunk:
        kept = values
        return Chunk(lines.path, first, len(raws), lines.share, lambda name: column(name, kept), raws, numbers)

    for number, raw, value in records:
        numbers.append(number)
        raws.append(raw)
        values.append(value)
        size += len(raw)
        if len(raws) == MAX_ROWS or size >= MAX_CHARS:
            yield chunk()
            first, size, numbers, raws, values = first + len(raws), 0, [], [], []
    if raws:
        yield chunk()


def _records(lines: Lines, delimiter: str) -> Iterator[Record]:
    """Each record with the line it begins on and its text, without the line end."""
    reader, begin = csv.reader(lines, delimiter=delimiter, strict=True), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{lines.here}: the record that begins on line {begin:,} is broken ({error}); look for a double quote "
                "that is not closed, or not doubled inside a text"
            ) from None
        raw = "".join(lines.taken).rstrip("\r\n")
        lines.taken.clear()
        if cells:
            yield begin, raw, cells
        begin = lines.number + 1


def _picked(name: str, records: Sequence[dict[str, Any]]) -> list[Any]:
    return [record.get(name) for record in records]


def _object(text: str, here: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{here}: not a JSON object on one line ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"{here}: expected a JSON object, found {type(found).__name__}")
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the same key twice")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
