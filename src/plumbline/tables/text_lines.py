"""The lines of a text file, whatever its encoding: decoded, numbered and bounded."""

import io
from collections.abc import Callable, Iterator

from plumbline.contract.errors import DataError
from plumbline.tables.byte_stream import UTF8_BOM

MAX_LINE = 16 * 2**20  # bytes
# Bytes do not say which 8-bit or East Asian encoding they are: a wrong one gives wrong letters.
CONVERT = "convert the file from the encoding that it was written in (iconv -f ENCODING -t UTF-8)"
HEAD_BYTES = 200
SAMPLE_BYTES = 2**16
BYTE_ORDER_MARKS = {  # but that of UTF-8; the longer ones first
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\x84\x31\x95\x33": "gb18030",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
# Python escapes a byte that is not UTF-8 as one of these characters (surrogateescape, PEP 383).
ESCAPED_BYTES = {chr(0xDC00 + byte) for byte in range(0x80, 0x100)}
WINDOWS_1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)
}


class DecodedLines:
    """Iterate over the lines of a stream as text; `number` is that of the last line, from 1."""

    def __init__(self, stream: io.BufferedReader, name: str, refuse_encoding: bool) -> None:
        self.name = name
        self.number = 0
        self._stream = stream
        self._refuse_encoding = refuse_encoding
        self._repaired = False
        self.offset = 0  # bytes that were read
        self._num_repaired = 0
        self.is_ended = True  # the line that was read last has a line end
        self._num_utf8 = 0  # lines with characters beyond ASCII that are valid UTF-8
        encoding = _find_encoding(stream)
        # The beginning of the file, as far as it is clear.
        self.sample = stream.peek()[:SAMPLE_BYTES].decode(encoding or "utf-8", "replace")
        self._read_line = _choose_line_reader(stream, name, encoding)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._read_line(MAX_LINE)
        if not raw:
            raise StopIteration
        self.number += 1
        self.is_ended = raw.endswith(b"\n")
        if len(raw) >= MAX_LINE:
            limit = f"{MAX_LINE // 2**20} MiB"
            raise DataError(
                f"{self.name}:{self.number}: a line of more than {limit}; is it a text file?"
            )
        if self.number == 1 and raw.startswith(UTF8_BOM):
            raw = raw.removeprefix(UTF8_BOM)
            self.offset = len(UTF8_BOM)
        try:
            text = raw.decode()
            self._num_utf8 += len(text) != len(raw)
        except UnicodeDecodeError as error:
            text = self._repair(raw, error)
        self.offset += len(raw)
        return text

    def take_repaired(self) -> bool:
        """Return whether bytes were replaced since the last call."""
        repaired = self._repaired
        self._repaired = False
        return repaired

    def describe(self) -> list[str]:
        """Say how bytes that are not UTF-8 were read; call it after the last line."""
        if not self._num_repaired:
            return []
        if self._num_utf8 == 0:
            return [f"{self.name}: not UTF-8; lines read as Windows-1252: {self._num_repaired:,}"]
        return [
            f"{self.name}: lines with bytes that are not UTF-8: {self._num_repaired:,}; "
            "those bytes were read as Windows-1252, or as U+FFFD where it has no such character"
        ]

    def _repair(self, raw: bytes, error: UnicodeDecodeError) -> str:
        if self._refuse_encoding:
            raise DataError(self._explain_refusal(raw, error))
        self._repaired = True
        self._num_repaired += 1
        return raw.decode("utf-8", "surrogateescape").translate(WINDOWS_1252)

    def _explain_refusal(self, raw: bytes, error: UnicodeDecodeError) -> str:
        byte = f"byte 0x{raw[error.start]:02x} at offset {self.offset + error.start}"
        if self._num_utf8 or _has_utf8(raw + self._stream.peek()):
            remedy = "fix the row"
        else:
            remedy = CONVERT
        return (
            f"{self.name}:{self.number}: not UTF-8: {byte}; "
            f"{remedy}, or set data.policies.encoding: replace (it reads Windows-1252)"
        )


def _has_utf8(sample: bytes) -> bool:
    """Whether some characters beyond ASCII are valid UTF-8: then the file is not all Latin-1."""
    text = sample.decode("utf-8", "surrogateescape")
    return any(char > "\x7f" and char not in ESCAPED_BYTES for char in text)


def _find_encoding(stream: io.BufferedReader) -> str | None:
    """Return the encoding that a byte order mark proves; None: UTF-8, or what is not clear."""
    head = stream.peek(HEAD_BYTES)
    marks = (mark for mark in BYTE_ORDER_MARKS if head.startswith(mark))
    return BYTE_ORDER_MARKS.get(next(marks, b""))


def _choose_line_reader(
    stream: io.BufferedReader, name: str, encoding: str | None
) -> Callable[[int], bytes]:
    """Return `readline(limit)` in UTF-8 bytes: that of the stream, or one that converts."""
    if encoding:
        return _convert_lines(stream, name, encoding)
    head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
    if head.count(0) * 3 > len(head):
        raise DataError(f"{name}: looks like UTF-16 without a byte order mark; save it as UTF-8")
    sample = stream.peek(SAMPLE_BYTES)
    if b"\r" in sample and b"\n" not in sample:
        raise DataError(
            f"{name}: lines end in a bare carriage return; save it with Unix or Windows line ends"
        )
    return stream.readline


def _convert_lines(stream: io.BufferedReader, name: str, encoding: str) -> Callable[[int], bytes]:
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
    shown = encoding.upper()

    def read_line(limit: int) -> bytes:
        try:
            return text.readline(limit).encode()
        except UnicodeError:
            raise DataError(
                f"{name}: starts as {shown} but is not valid {shown}; save it as UTF-8"
            ) from None

    return read_line
