"""The bytes of a file: decompressed where its name says so, refused where they are not data."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING, cast

from plumbline.contract.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 2**20
HEAD_BYTES = 200  # that are looked at before the file is read
GZIP_ENDING = ".gz"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
UTF8_BOM = b"\xef\xbb\xbf"
HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")

# Given a file's name, turns what its driver raises inside the block into DataErrors.
Guard = Callable[[str], AbstractContextManager[None]]


@contextmanager
def guard_system_errors(name: str) -> Iterator[None]:
    """Turn what the system refuses into a DataError that names the file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from None


def open_stream(
    file: IO[bytes], name: str, guard: Guard = guard_system_errors
) -> io.BufferedReader:
    """Return the bytes of `file`, decompressed where its name says that it is compressed.

    Raises DataError for a Git LFS pointer, an archive or a page.
    """
    raw = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_compressed(name) else file
    stream: io.BufferedReader = io.BufferedReader(_CheckedFile(raw, name, guard), BUFFER_BYTES)
    _check_head(stream.peek(HEAD_BYTES)[:HEAD_BYTES], name)
    return stream


def is_compressed(name: str) -> bool:
    """Whether a name ends in .gz, in any case."""
    return name.lower().endswith(GZIP_ENDING)


def _check_head(head: bytes, name: str) -> None:
    if head.startswith(b"version https://git-lfs"):
        raise DataError(f"{name}: a Git LFS pointer, not the data itself; run `git lfs pull`")
    if head.startswith(GZIP_MAGIC):
        raise DataError(f"{name}: a gzip file; name it .gz")
    if head.startswith(ZIP_MAGIC):
        raise DataError(
            f"{name}: a zip archive or spreadsheet; unpack it, or save a spreadsheet as CSV"
        )
    if head.removeprefix(UTF8_BOM).lstrip().lower().startswith(HTML_STARTS):
        raise DataError(
            f"{name}: an HTML page, not data: the address that it came from answered with a page "
            "(to log in, or of an error); download the file itself"
        )


class _CheckedFile(io.RawIOBase):
    """A file whose read errors become DataErrors that name it."""

    def __init__(self, file: IO[bytes], name: str, guard: Guard) -> None:
        self._file = file
        self._name = name
        self._guard = guard

    def readable(self) -> bool:
        """Say yes to BufferedReader."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read from its end."""
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from the beginning, from here, or from the end."""
        return self._file.seek(offset, whence)

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill the start of `buffer`; 0 bytes are the end of the file."""
        view = memoryview(buffer)
        with self._guard(self._name):
            try:
                data = self._file.read(len(view))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise DataError(
                    f"{self._name}: damaged or truncated gzip file ({error}); download it again"
                ) from None
        view[: len(data)] = data
        return len(data)
