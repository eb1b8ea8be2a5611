"""The folder of logged requests: on this machine, or in an object store that replicas share."""

import errno
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.sources.addresses import (
    find_local_path,
    get_scheme,
    hide_secrets,
    hide_secrets_in_text,
)

PREFIX, SUFFIX = "requests-", ".parquet"
# fsspec knows many more schemes; some of them run commands or read archives.
SCHEMES = ("file", "s3", "gs", "az", "abfs", "abfss", "hdfs")


class RequestFolder:
    """Parquet files named requests-TIME-..., the time in UTC, so that names sort as times do.

    ParamsError for an address that cannot be opened here. All methods raise OSError where the
    folder cannot be read or written.
    """

    def __init__(self, address: str) -> None:
        self.shown = hide_secrets(address)
        scheme = get_scheme(address)
        if (scheme and scheme not in SCHEMES) or (scheme and "::" in address):
            raise ParamsError(
                f"{self.shown}: not a folder for requests; expected a path, or an address that "
                f"begins with {', '.join(f'{name}://' for name in SCHEMES)}"
            )
        local = find_local_path(address)
        self._local = Path(local) if local is not None else None
        self._store, self._path = _open_store(address, self.shown)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, where nobody else removes old files."""
        return self._local is not None

    def list_names(self) -> list[str]:
        """List the names of the files, oldest first."""
        with self._name_errors():
            self._store.invalidate_cache()  # other machines write there
            paths = self._store.ls(self._path, detail=False)
        names = [str(path).rpartition("/")[2] for path in paths]
        return sorted(name for name in names if name.startswith(PREFIX) and name.endswith(SUFFIX))

    def open(self, name: str) -> IO[bytes]:
        """Open one of the files to read it."""
        with self._name_errors():
            return cast("IO[bytes]", self._store.open(f"{self._path}/{name}", "rb"))

    def write(self, choose_name: Callable[[], str], content: bytes) -> None:
        """Write a file, which is visible once it is complete; its name is chosen when that is near.

        On this machine that is at once; in a store it takes as long as the file takes to be sent.
        """
        if self._local is not None:
            hidden = self._local / f".{secrets.token_hex(8)}{SUFFIX}"
            with layout.write_aside(hidden) as aside:
                aside.write_bytes(content)
            hidden.rename(self._local / choose_name())
            return
        with self._name_errors():
            self._store.pipe_file(f"{self._path}/{choose_name()}", content)

    def delete(self, name: str) -> None:
        """Delete a file, unless that was done already, by another server on the folder say."""
        with self._name_errors(), suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  each driver has errors of its own
            reason = hide_secrets_in_text(" ".join(str(error).split()))[:300]
            raise OSError(errno.EIO, reason or type(error).__name__, self.shown) from None


def _open_store(address: str, shown: str) -> tuple[Any, str]:
    """Open the file system that fsspec has for an address, and the path in it."""
    import fsspec

    local = find_local_path(address)
    try:
        if local is not None:
            return fsspec.filesystem("file"), str(Path(local).absolute())
        store, path = fsspec.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ParamsError(f"{shown}: {hide_secrets_in_text(str(error))}") from None
    return store, path.rstrip("/")
