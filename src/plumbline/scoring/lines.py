"""Rows of text files, plain or gzip, read strictly: what is broken is an error with its line, not a smaller file."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import MAX_CHARS, MAX_ROWS, Chunk, Form

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
        self._stream = (
            io.BufferedReader(gzip.GzipFile(fileobj=self._file), 2**20)
            if form.packed
            else self._file
        )

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._read()
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) == MAX_LINE:
            raise DataError(
                f"{self.here}: a line of more than {MAX_LINE // 2**20} MiB; is it text?"
            )
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
            raise DataError(
                f"{self.path}: after line {self.number:,}: cannot be read ({error})"
            ) from None


def chunked(
    records: Iterator[Record], lines: Lines, column: Callable[[str, Sequence[Any]], list[Any]]
) -> Iterator[Chunk]:
    """Records in chunks; `column` gives the values of a name in a sequence of what was read."""
    first, size, numbers, raws, values = 0, 0, list[int](), list[str](), list[Any]()

    def chunk() -> Chunk:
        kept = values
        return Chunk(
            lines.path,
            first,
            len(raws),
            lines.share,
            lambda name: column(name, kept),
            raws,
            numbers,
        )

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
