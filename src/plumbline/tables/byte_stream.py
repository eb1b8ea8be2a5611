"""The bytes of a file: decompressed where they are gzip, refused where they are not data."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from plumbline.contract.errors import DataError

BUFFER_BYTES = 2**20
HEAD_BYTES = 200  # that are looked at before the file is read
GZIP_ENDING = ".gz"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
UTF8_BOM = b"\xef\xbb\xbf"
HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")


@contextmanager
def name_read_errors(name: str) -> Iterator[None]:
    """Turn what cannot be read or decompressed into a DataError that names the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name}: damaged or truncated gzip file ({error}); download it again"
        ) from None
    except OSError as error:
        if error.strerror is None:  # of a store, in whose words an address may be
            raise
        raise DataError(f"{name}: cannot be read ({error.strerror})") from None


def open_stream(file: IO[bytes], name: str) -> io.BufferedReader:
    """Return the bytes of `file`, decompressed where they are gzip, whatever their name says.

    Raises DataError for a Git LFS pointer, an archive or a page.
    """
    stream: Any = file
    # A second reader around one would close its file, and warn of that, when it is dropped.
    if not isinstance(file, io.BufferedReader):
        stream = io.BufferedReader(stream, BUFFER_BYTES)
    if stream.peek(HEAD_BYTES).startswith(GZIP_MAGIC):
        stream = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)), BUFFER_BYTES)
    _check_head(stream.peek(HEAD_BYTES)[:HEAD_BYTES], name)
    return cast(io.BufferedReader, stream)


def _check_head(head: bytes, name: str) -> None:
    if head.startswith(b"version https://git-lfs"):
        raise DataError(f"{name}: a Git LFS pointer, not the data itself; run `git lfs pull`")
    if head.startswith(ZIP_MAGIC):
        raise DataError(
            f"{name}: a zip archive or spreadsheet; unpack it, or save a spreadsheet as CSV"
        )
    if head.removeprefix(UTF8_BOM).lstrip().lower().startswith(HTML_STARTS):
        raise DataError(
            f"{name}: an HTML page, not data: the address that it came from answered with a page "
            "(to log in, or of an error); download the file itself"
        )
