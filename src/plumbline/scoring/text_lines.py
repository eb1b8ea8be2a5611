"""Read text files, plain or gzip, line by line and strictly: a fault is an error with its line."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import MAX_CHARS, MAX_ROWS, Chunk
from plumbline.scoring.file_format import FileFormat

MAX_LINE = 16 * 2**20  # bytes
BUFFER_BYTES = 2**20
BOM = b"\xef\xbb\xbf"

Record = tuple[int, str, Any]  # the line it begins on, its text, its parsed value


class LineReader:
    """An iterator over the lines of a file."""

    def __init__(self, path: Path, file_format: FileFormat) -> None:
        self.path = path
        self.number = 0  # of the last line, from 1
        self.recent: list[str] = []  # lines that were read since the caller cleared it
        self.line_end = "\n"  # of the first line
        self._file = path.open("rb")
        self._size = max(1, path.stat().st_size)
        self._stream: io.BufferedReader = self._file
        if file_format.is_gzip:
            self._stream = io.BufferedReader(gzip.GzipFile(fileobj=self._file), BUFFER_BYTES)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._read_line()
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) == MAX_LINE:
            raise DataError(
                f"{self.location}: a line longer than {MAX_LINE // 2**20} MiB; is it a text file?"
            )
        if self.number == 1:
            raw = raw.removeprefix(BOM)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise DataError(
                f"{self.location}: not UTF-8 (byte 0x{byte:02x}); save it as UTF-8"
            ) from None
        if self.number == 1 and line.endswith("\r\n"):
            self.line_end = "\r\n"
        self.recent.append(line)
        return line

    @property
    def location(self) -> str:
        """The file and the line that was read last."""
        return f"{self.path}: line {self.number:,}"

    @property
    def share_read(self) -> float:
        """The part of the file that was read, from 0 to 1."""
        return self._file.tell() / self._size

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._file.close()

    def _read_line(self) -> bytes:
        where = f"{self.path}: after line {self.number:,}"
        try:
            return self._stream.readline(MAX_LINE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{where}: damaged or truncated gzip file ({error}); fetch it again"
            ) from None
        except OSError as error:
            raise DataError(f"{where}: cannot be read ({error})") from None


class ChunkBuilder:
    """Collects records until they are a chunk."""

    def __init__(self, lines: LineReader, pick: Callable[[str, Sequence[Any]], list[Any]]) -> None:
        self._lines = lines
        self._pick = pick  # the values of a column in a sequence of parsed values
        self._first_row = 0
        self._start()

    def _start(self) -> None:
        self._num_chars = 0
        self._numbers: list[int] = []
        self._raws: list[str] = []
        self._values: list[Any] = []

    @property
    def is_empty(self) -> bool:
        """Whether no record was added since the last chunk."""
        return not self._raws

    @property
    def is_full(self) -> bool:
        """Whether the records are enough for a chunk."""
        return len(self._raws) == MAX_ROWS or self._num_chars >= MAX_CHARS

    def add(self, record: Record) -> None:
        """Add a record."""
        number, raw, value = record
        self._numbers.append(number)
        self._raws.append(raw)
        self._values.append(value)
        self._num_chars += len(raw)

    def build(self) -> Chunk:
        """Return the records as a chunk and begin the next one."""
        values = self._values
        chunk = Chunk(
            self._lines.path,
            self._first_row,
            len(self._raws),
            self._lines.share_read,
            lambda name: self._pick(name, values),
            self._raws,
            self._numbers,
        )
        self._first_row += len(self._raws)
        self._start()
        return chunk


def group_records(
    records: Iterator[Record], lines: LineReader, pick: Callable[[str, Sequence[Any]], list[Any]]
) -> Iterator[Chunk]:
    """Group records into chunks; `pick` returns the values of a column in parsed values."""
    builder = ChunkBuilder(lines, pick)
    for record in records:
        builder.add(record)
        if builder.is_full:
            yield builder.build()
    if not builder.is_empty:
        yield builder.build()
