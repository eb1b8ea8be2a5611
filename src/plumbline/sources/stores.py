"""File systems of fsspec that keep files, by the address of a folder."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.sources.addresses import (
    find_local_path,
    get_scheme,
    hide_secrets,
    hide_secrets_in_text,
)

# fsspec knows many more schemes; some of them run commands or read archives.
SCHEMES = ("file", "s3", "gs", "az", "abfs", "abfss", "hdfs")


def open_store(address: str, purpose: str) -> tuple[Any, str]:
    """Open the file system that fsspec has for the address of a folder, and the path in it.

    ParamsError, which says what the folder is for (`purpose`), where that is not possible here.
    """
    import fsspec

    shown = hide_secrets(address)
    scheme = get_scheme(address)
    if (scheme and scheme not in SCHEMES) or (scheme and "::" in address):
        raise ParamsError(
            f"{shown}: not a folder for {purpose}; expected a path, or an address that "
            f"begins with {', '.join(f'{name}://' for name in SCHEMES)}"
        )
    local = find_local_path(address)
    try:
        if local is not None:
            return fsspec.filesystem("file"), str(Path(local).absolute())
        store, path = fsspec.url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        raise ParamsError(f"{shown}: {hide_secrets_in_text(str(error))}") from None
    return store, path.rstrip("/")


@contextmanager
def name_store_errors(shown: str) -> Iterator[None]:
    """Raise what a driver raises, each in its own way, as an OSError that names the folder."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  each driver has errors of its own
        raise OSError(errno.EIO, describe_driver_error(error), shown) from None


@contextmanager
def refuse_driver_errors(shown: str, verb: str = "read") -> Iterator[None]:
    """Do so as a DataError that names what is read; our own errors stay."""
    try:
        yield
    except PlumblineError:
        raise
    except Exception as error:  # noqa: BLE001  each driver has errors of its own
        raise DataError(f"{shown}: cannot be {verb} ({describe_driver_error(error)})") from None


def describe_driver_error(error: Exception) -> str:
    """Return what a driver says, in one line and without secrets."""
    reason = hide_secrets_in_text(" ".join(str(error).split()))[:300]
    return reason or type(error).__name__
