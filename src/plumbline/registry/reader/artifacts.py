"""Reads single files of a registered version where the registry keeps them: once, bounded, into a private place."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from plumbline.bundle.files import new
from plumbline.contract.errors import BundleError, RegistryError

if TYPE_CHECKING:
    from plumbline.registry.reader.stores import Store

CHUNK = 1 << 20
TIMEOUT_S = 600.0  # for one file: a store that hands out a byte now and then is away


class MissingError(RegistryError):
    """The store answers, and has no such file."""


def fetch(store: "Store", location: str, name: str, target: Path, limit: int) -> None:
    """Write `name` (a/b/c) below `location` to `target`, which must be new; only this user can read it.

    MissingError where it is not there, RegistryError where it cannot be read or kept, BundleError where it is longer
    than `limit` bytes.
    """
    until = time.monotonic() + TIMEOUT_S
    with _told(f"{location}/{name}"), store.open(location, name) as found, new(target) as kept:
        while chunk := found.read(CHUNK):
            limit -= len(chunk)
            if limit < 0:
                raise BundleError(
                    f"{location}/{name}: longer than such a file may be; do not use this version"
                )
            if time.monotonic() > until:
                raise TimeoutError(f"not whole after {TIMEOUT_S:.0f} s")
            kept.write(chunk)
        if isinstance(found, HTTPResponse) and found.length:
            raise IncompleteRead(b"", found.length)


def open_file(location: str, name: str) -> "IO[bytes]":
    """A file of a location that is a folder here, or of one that fsspec can read (s3://, gs://, az:// ...)."""
    parts = urlsplit(location)
    if parts.scheme == "mlflow-artifacts":
        raise ValueError(
            "the artifacts are behind a tracking server: set MLFLOW_TRACKING_URI to its http:// address"
        )
    if parts.scheme not in ("", "file"):
        import fsspec

        return cast("IO[bytes]", fsspec.open(f"{location.rstrip('/')}/{name}", "rb").open())
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{location} is on another machine")
    path = Path(unquote(parts.path) if parts.scheme else location) / name
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError("is no plain file")
    return os.fdopen(handle, "rb")


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError, HTTPException) as error:
        reason = (
            getattr(error, "strerror", None) or str(error) or type(error).__name__
        ).splitlines()[0][:200]
        missing = (
            isinstance(error, FileNotFoundError)
            or getattr(error, "code", None) == HTTPStatus.NOT_FOUND
        )
        raise (MissingError if missing else RegistryError)(
            f"{what}: cannot be fetched ({reason})"
        ) from None
