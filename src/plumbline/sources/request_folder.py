"""The folder of logged requests: on this machine, or in an object store that replicas share."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from plumbline.contract.errors import DataError
from plumbline.process.files import publish
from plumbline.process.leftovers import make_aside_file
from plumbline.sources.addresses import find_local_path, hide_secrets
from plumbline.sources.stores import name_store_errors, open_store

PREFIX, SUFFIX = "requests-", ".parquet"


class RequestFolder:
    """Parquet files named requests-TIME-..., the time in UTC, so that names sort as times do.

    ParamsError for an address that cannot be opened here. All methods raise OSError where the
    folder cannot be read or written.
    """

    def __init__(self, address: str) -> None:
        self.shown = hide_secrets(address)
        local = find_local_path(address)
        # On this machine nobody else removes old files, and what killed processes left.
        self.local = Path(local) if local is not None else None
        self._store, self._path = open_store(address, "requests")

    @property
    def digest(self) -> str:
        """The first 12 digits of a SHA-256 of where it is, without user and password.

        The same path on two machines has the same digest.
        """
        if self.local is not None:
            place = os.path.realpath(self.local)
        else:  # the address without user has no container of Azure, the path no host
            place = f"{self.shown.rstrip('/')} {self._path}"
        return hashlib.sha256(os.fsencode(place)).hexdigest()[:12]

    def list_names(self, prefix: str = PREFIX) -> list[str]:
        """List the names of the files that begin with `prefix`, oldest first."""
        with name_store_errors(self.shown):
            self._store.invalidate_cache()  # other machines write there
            paths = self._store.ls(self._path, detail=False)
        names = [str(path).rpartition("/")[2] for path in paths]
        return sorted(name for name in names if name.startswith(prefix) and name.endswith(SUFFIX))

    def list_log(self) -> list[str]:
        """List the files of the log, oldest first; DataError where it has none."""
        if self.local is not None and self.local.is_file():
            raise DataError(f"{self.shown}: a file; expected the folder of a log of requests")
        try:
            is_missing = self.local is not None and not self.local.exists()
            names = [] if is_missing else self.list_names()
        except OSError as error:
            raise DataError(f"{self.shown}: cannot be read ({error.strerror})") from None
        if not names:
            raise DataError(
                f"{self.shown}: no {PREFIX}*{SUFFIX} there; `plumbline serve --log-folder "
                f"{self.shown}` writes them, within a minute of the first request"
            )
        return names

    def measure(self, name: str) -> int:
        """Return the bytes of one of the files, 0 where it is gone."""
        with name_store_errors(self.shown), suppress(FileNotFoundError):
            return int(self._store.size(f"{self._path}/{name}"))
        return 0

    def open(self, name: str) -> IO[bytes]:
        """Open one of the files to read it."""
        with name_store_errors(self.shown):
            return cast("IO[bytes]", self._store.open(f"{self._path}/{name}", "rb"))

    def write(self, choose_name: Callable[[], str], content: bytes) -> None:
        """Write a file, which is visible once it is complete; its name is chosen when that is near.

        On this machine that is at once; in a store it takes as long as the file takes to be sent.
        """
        if self.local is not None:
            self.local.mkdir(parents=True, exist_ok=True)
            with make_aside_file(self.local, "") as aside:
                aside.write_bytes(content)
                publish(aside, self.local / choose_name())  # held until it has its name
            return
        with name_store_errors(self.shown):
            self._store.pipe_file(f"{self._path}/{choose_name()}", content)

    def delete(self, name: str) -> None:
        """Delete a file, unless that was done already, by another server on the folder say."""
        with name_store_errors(self.shown), suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")
