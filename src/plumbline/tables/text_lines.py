"""The lines of a text file, whatever its encoding: decoded, numbered and bounded."""

import io
import re
from collections.abc import Iterator

from plumbline.contract.errors import DataError

MAX_LINE = 16 * 2**20  # characters
# Bytes do not say which 8-bit or East Asian encoding they are: a wrong one gives wrong letters.
CONVERT = "convert the file from the encoding that it was written in (iconv -f ENCODING -t UTF-8)"
LINE_ENDS = "a bare carriage return ends lines; convert them: tr '\\r' '\\n' < OLD > NEW"
HEAD_BYTES = 200
SAMPLE_BYTES = 2**16
BYTE_ORDER_MARKS = {  # but that of UTF-8; the longer ones first
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\x84\x31\x95\x33": "gb18030",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
UTF8 = "utf-8"
# Python escapes a byte that is not UTF-8 as one of these characters (surrogateescape, PEP 383).
ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
IS_UTF8 = re.compile("[^\\x00-\\x7f\udc80-\udcff\ufffd]")  # beyond ASCII, and not replaced
WINDOWS_1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)
}


class DecodedLines:
    """Iterate over the lines of a stream as text, which end in a line feed."""

    def __init__(self, stream: io.BufferedReader, name: str, refuse_encoding: bool) -> None:
        self.name = name
        self.number = 0  # of the last line, from 1
        self.num_chars = 0  # that were read
        self.is_ended = True  # the line that was read last has a line end
        self._refuse_encoding = refuse_encoding
        self.num_repaired = 0  # lines in which bytes were replaced
        beginning = stream.peek()[:SAMPLE_BYTES]
        self._encoding = _find_encoding(beginning, name)
        # The beginning of the file, as far as it is clear.
        self.sample = beginning.decode(self._encoding, "replace")
        errors = "surrogateescape" if self._encoding == UTF8 else "strict"
        self._text = io.TextIOWrapper(stream, self._encoding, errors, newline="\n")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._text.readline(MAX_LINE)
        except UnicodeError:
            shown = self._encoding.upper()
            raise DataError(
                f"{self.name}: starts as {shown} but is not valid {shown}; save it as UTF-8"
            ) from None
        if not line:
            raise StopIteration
        self.number += 1
        self.num_chars += len(line)
        self.is_ended = line.endswith("\n")
        if len(line) >= MAX_LINE:
            raise DataError(
                f"{self.name}:{self.number}: a line of more than {MAX_LINE // 2**20} MiB; "
                "is it a text file with Unix or Windows line ends?"
            )
        if self.number == 1:
            line = line.removeprefix("\ufeff")
        return line if line.isascii() else self._repair(line)

    def describe(self) -> list[str]:
        """Say how bytes that are not UTF-8 were read; call it after the last line."""
        if not self.num_repaired:
            return []
        return [
            f"{self.name}: lines with bytes that are not UTF-8: {self.num_repaired:,}; "
            "those bytes were read as Windows-1252, or as U+FFFD where it has no such character"
        ]

    def _repair(self, line: str) -> str:
        """Return the line without escaped bytes; DataError where these are refused."""
        escaped = ESCAPED_BYTE.search(line)
        if escaped is None:
            return line
        if self._refuse_encoding:
            # Where some characters are valid UTF-8, the file is not all in another encoding.
            remedy = "fix the row" if IS_UTF8.search(line + self.sample) else CONVERT
            raise DataError(
                f"{self.name}:{self.number}: not UTF-8: byte 0x{ord(escaped[0]) - 0xDC00:02x} "
                f"after {line[: escaped.start()][-20:]!r}; {remedy}, or set "
                "data.policies.encoding: replace (it reads Windows-1252)"
            )
        self.num_repaired += 1
        return line.translate(WINDOWS_1252)


def _find_encoding(beginning: bytes, name: str) -> str:
    """Return the encoding that a byte order mark proves, else UTF-8."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            return encoding
    head = beginning[:HEAD_BYTES]
    if head.count(0) * 3 > len(head):
        raise DataError(f"{name}: looks like UTF-16 without a byte order mark; save it as UTF-8")
    return UTF8
