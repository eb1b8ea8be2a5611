"""Physical lines of a text file, whatever its encoding or compression, numbered and bounded."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from plumbline.contract.errors import DataError

MAX_LINE = 16 * 2**20  # bytes
MAX_RATIO = 200  # decompressed to compressed; text is below 20, a bomb above 1000
RATIO_FROM = 64 * 2**20  # bytes decompressed before the ratio is looked at
UTF8_BOM, UTF16_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
STRAY = {
    chr(0xDC00 + byte) for byte in range(0x80, 0x100)
}  # how Python escapes a byte that is not UTF-8
WINDOWS_1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)
}


def opened(file: IO[bytes], name: str) -> io.BufferedReader:
    """The bytes in `file`, decompressed where it is named .gz; DataError where they are plainly not what was meant."""
    raw: io.RawIOBase = _Decompressed(file, name) if name.endswith(".gz") else Plain(file, name)
    stream: io.BufferedReader = io.BufferedReader(raw, 2**20)
    head = stream.peek(200)[:200]
    if not head:
        raise DataError(f"{name}: the file is empty (0 bytes)")
    if head.startswith(b"version https://git-lfs"):
        raise DataError(f"{name}: a Git LFS pointer, not the data itself; run `git lfs pull`")
    if head.startswith((b"PK\x03\x04", b"\x1f\x8b")):
        remedy = "name it .gz" if head[0] == 0x1F else "unpack it, or save a spreadsheet as CSV"
        raise DataError(
            f"{name}: a {'gzip file' if head[0] == 0x1F else 'zip archive or spreadsheet'}; {remedy}"
        )
    return stream


class Lines:
    """Iterate over lines as text; `number` is that of the last one (from 1), `repaired` whether bytes were replaced."""

    def __init__(self, stream: io.BufferedReader, name: str, refuse: bool) -> None:
        self.number, self.repaired = 0, False
        self._stream, self._name, self._refuse = stream, name, refuse
        self._offset, self._num_repaired, self._num_utf8 = 0, 0, 0
        self._readline = _reader(stream, name)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._readline(MAX_LINE)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) >= MAX_LINE:
            raise DataError(
                f"{self._name}:{self.number}: a line of more than {MAX_LINE // 2**20} MiB; is it text?"
            )
        if self.number == 1 and raw.startswith(UTF8_BOM):
            raw, self._offset = raw[3:], 3
        try:
            text = raw.decode()
            self._num_utf8 += len(text) != len(raw)
        except UnicodeDecodeError as error:
            text = self._repair(raw, error)
        self._offset += len(raw)
        return text

    def notice(self) -> str | None:
        """One sentence on how bytes that are not UTF-8 were read, once all lines were."""
        if not self._num_repaired:
            return None
        if self._num_utf8 == 0:
            return f"{self._name}: not UTF-8, looks like Latin-1; lines read as Windows-1252: {self._num_repaired:,}"
        return (
            f"{self._name}: lines with bytes that are not UTF-8: {self._num_repaired:,}; those bytes were read as "
            "Windows-1252, or as U+FFFD where it has no such character"
        )

    def _repair(self, raw: bytes, error: UnicodeDecodeError) -> str:
        if self._refuse:
            utf8 = self._num_utf8 or _holds_utf8(raw + self._stream.peek())
            latin = "" if utf8 else ", looks like Latin-1"
            remedy = "mend the row" if utf8 else "convert the file (iconv -f WINDOWS-1252 -t UTF-8)"
            raise DataError(
                f"{self._name}:{self.number}: not UTF-8{latin}: byte 0x{raw[error.start]:02x} at offset "
                f"{self._offset + error.start}; {remedy}, or set data.policies.encoding: replace"
            )
        self.repaired = True
        self._num_repaired += 1
        return raw.decode("utf-8", "surrogateescape").translate(WINDOWS_1252)


def _holds_utf8(sample: bytes) -> bool:
    """Whether some characters beyond ASCII are valid UTF-8, so that the file is not in another encoding as a whole."""
    return any(
        char > "\x7f" and char not in STRAY for char in sample.decode("utf-8", "surrogateescape")
    )


class Plain(io.RawIOBase):
    """A file whose faults are DataErrors that name it."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, name: str) -> None:
        self.file, self._name = file, name

    def readable(self) -> bool:
        """Say yes to BufferedReader."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill `buffer`, or what is left of it at the end."""
        try:
            data = self.file.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{self._name}: damaged or cut short gzip file ({error}); fetch it again"
            ) from None
        except OSError as error:
            raise DataError(f"{self._name}: cannot be read ({error})") from None
        buffer[: len(data)] = data
        return len(data)


class _Decompressed(Plain):
    """What gzip gives, stopped where it grows out of all proportion."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        super().__init__(gzip.GzipFile(fileobj=file), name)
        self._compressed, self._num_bytes = file, 0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The same, with the size so far compared to what was read for it."""
        size = super().readinto(buffer)
        self._num_bytes += size
        if self._num_bytes > RATIO_FROM and self._num_bytes > MAX_RATIO * self._compressed.tell():
            raise DataError(
                f"{self._name}: grew to more than {MAX_RATIO} times its size when decompressed; "
                "if that is meant, decompress it yourself"
            )
        return size


def _reader(stream: io.BufferedReader, name: str) -> Callable[[int], bytes]:
    """`readline(limit)` in UTF-8 bytes: the stream's own, or for UTF-16 one that transcodes."""
    head = stream.peek(200)[:200]
    if head.startswith(UTF16_BOMS):
        text = io.TextIOWrapper(stream, encoding="utf-16", newline="")

        def readline(limit: int) -> bytes:
            try:
                return text.readline(limit).encode()
            except UnicodeError:
                raise DataError(f"{name}: starts as UTF-16 but is not; save it as UTF-8") from None

        return readline
    if head.count(0) * 3 > len(head):
        raise DataError(f"{name}: looks like UTF-16 without a byte order mark; save it as UTF-8")
    if b"\r" in (sample := stream.peek(2**16)) and b"\n" not in sample:
        raise DataError(
            f"{name}: lines end in a bare carriage return; save it with Unix or Windows line ends"
        )
    return stream.readline
