"""A folder of files to score, or of scored files: on this machine, or in an object store."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from plumbline.contract.errors import BusyError, DataError
from plumbline.process.files import digest_path, format_json, write_json
from plumbline.process.locks import hold
from plumbline.sources.addresses import find_local_path, get_scheme, hide_secrets
from plumbline.sources.files import HIDDEN
from plumbline.sources.object_store import read_version
from plumbline.sources.stores import open_store, refuse_driver_errors

RECORDS = "_scored"  # the folder of records in a folder of answers


def is_folder(address: str) -> bool:
    """Whether files of a folder are meant: one on this machine, or any in an object store."""
    return bool(get_scheme(address)) or address.endswith("/") or Path(address).is_dir()


class FileFolder:
    """Files by their names relative to the folder, such as `2026/11/tickets.csv`.

    ParamsError for an address that cannot be opened here. All methods raise OSError for what the
    system refuses, and DataError for what a store refuses.
    """

    def __init__(self, address: str) -> None:
        self.shown = hide_secrets(address).rstrip("/")
        local = find_local_path(address)
        self.local = Path(local) if local is not None else None
        self._store, self._path = open_store(address, "files to score")
        self.address = str(
            self.local.resolve() if self.local else self._store.unstrip_protocol(self._path)
        )

    def show(self, name: str) -> str:
        """Return the address of a file, as a message may say it."""
        return f"{self.shown}/{name}"

    def list_names(self) -> list[str]:
        """List the files at any depth, in order, without those with a hidden name on their way.

        Parts without a byte, as engines write them, are left out. Empty where there is no such
        folder; DataError where it is a file.
        """
        with self._explain_errors():
            self._store.invalidate_cache()  # others write there
            exists = self._store.exists(self._path)
            found = self._store.find(self._path, detail=True) if exists else {}
        names = [
            str(path).removeprefix(self._path).removeprefix("/")
            for path, facts in found.items()
            if facts["size"] != 0
        ]
        if names == [""]:
            raise DataError(f"{self.shown}: a file; name the folder that holds it")
        return sorted(name for name in names if not _is_hidden(name))

    def identify(self, name: str) -> dict[str, Any] | None:
        """Return what changes with the content of a file: its digest, or the store's version.

        None where there is no such file.
        """
        with self._explain_errors():
            self._store.invalidate_cache()
            if not self._store.exists(self._locate(name)):
                return None
            if self.local is None:
                return read_version(self._store, self._locate(name))
        path = self.local / name
        return {"sha256": digest_path(path), "bytes": path.stat().st_size}

    def fetch(self, name: str, scratch: Path) -> Path:
        """Return the path of a file on this machine, for which it may be copied to `scratch`."""
        if self.local is not None:
            return self.local / name
        scratch.mkdir()
        path = scratch / Path(name).name
        with self._explain_errors():
            self._store.get_file(self._locate(name), str(path))
        return path

    def choose_place(self, name: str, scratch: Path) -> Path:
        """Return where on this machine a file is written, before `keep`; its folder is there."""
        place = scratch / Path(name).name if self.local is None else self.local / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def keep(self, name: str, place: Path) -> None:
        """Take a complete file from where `choose_place` let it be written."""
        if self.local is None:
            with self._explain_errors():
                self._store.put_file(str(place), self._locate(name))

    def read_record(self, name: str) -> Any:
        """Read what `write_record` wrote of a file; {} where there is nothing that can be read."""
        with self._explain_errors():
            try:
                return json.loads(self._store.cat_file(self._locate(_locate_record(name))))
            except (FileNotFoundError, ValueError):
                return {}

    def write_record(self, name: str, record: Mapping[str, Any]) -> None:
        """Write the record of a file, for the next run."""
        self.write_json(_locate_record(name), record)

    def write_json(self, name: str, value: Any) -> None:
        """Write `value` as stable, strict JSON."""
        if self.local is not None:
            write_json(self.local / name, value)
            return
        content = format_json(value)
        with self._explain_errors():
            self._store.pipe_file(self._locate(name), content.encode())

    def delete(self, name: str) -> None:
        """Delete a file, if there is one."""
        with self._explain_errors(), suppress(FileNotFoundError):
            self._store.rm_file(self._locate(name))

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let one run at a time write into the folder; BusyError where another run does.

        A store has no such lock.
        """
        if self.local is None:
            yield
            return
        (self.local / RECORDS).mkdir(parents=True, exist_ok=True)
        handle = os.open(self.local / RECORDS, os.O_RDONLY)
        try:
            if not hold(handle, wait=False):
                raise BusyError(f"{self.shown}: another run is writing it; wait for it or stop it")
            yield
        finally:
            os.close(handle)

    def _locate(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _explain_errors(self) -> AbstractContextManager[None]:
        return refuse_driver_errors(self.shown, "used")


def _locate_record(name: str) -> str:
    return f"{RECORDS}/{hashlib.sha256(name.encode()).hexdigest()}.json"


def _is_hidden(name: str) -> bool:
    return any(step.startswith(HIDDEN) for step in name.split("/"))
