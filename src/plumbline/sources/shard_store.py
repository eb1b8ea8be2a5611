"""Shards at an address, such as s3://bucket/folder, each named by its SHA-256.

So a shard that an older listing names is never written over, and one that is there already is
written again with the same bytes.
"""

import shutil
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.contract.listing import REMEDY
from plumbline.process.files import write_aside
from plumbline.sources.addresses import find_local_path, get_scheme, hide_secrets
from plumbline.sources.stores import SCHEMES, open_store, refuse_driver_errors

ADVICE = "; check the address and your rights to it, then run the same command again"


class ShardStore:
    """The folder at an address; ParamsError for one that cannot be opened here."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        local = find_local_path(address)
        self._local = Path(local) if local is not None else None
        self._store, self._path = open_store(address, "shards")

    def show(self, sha256: str) -> str:
        """Return the address of a shard."""
        return f"{self.address}/{_name_file(sha256)}"

    def keep(self, path: Path, sha256: str) -> None:
        """Store a shard; it is complete or not there. DataError where it cannot be written."""
        with refuse_driver_errors(self.show(sha256), "written", ADVICE):
            if self._local is not None:
                with write_aside(self._local / _name_file(sha256)) as aside:
                    shutil.copyfile(path, aside)
            else:
                self._store.put_file(str(path), f"{self._path}/{_name_file(sha256)}")

    def fetch(self, sha256: str, path: Path) -> None:
        """Copy a shard to `path`; DataError where it is not there, or cannot be read."""
        shown = self.show(sha256)
        with refuse_driver_errors(shown, "read", ADVICE):
            try:
                self._store.get_file(f"{self._path}/{_name_file(sha256)}", str(path))
            except FileNotFoundError:
                raise DataError(f"{shown}: not found; {REMEDY}, which writes it again") from None


def check_shard_address(address: str) -> str:
    """Return an address that every machine may know; ValueError for another one.

    It is written into the listing, so there is no secret in it.
    """
    local = find_local_path(address)
    if get_scheme(address) not in SCHEMES or (local is not None and not Path(local).is_absolute()):
        raise ValueError(
            f"expected the address of a folder, such as s3://bucket/folder or file:///mnt/shards "
            f"({', '.join(SCHEMES)}), found {hide_secrets(address)!r}"
        )
    if hide_secrets(address) != address:
        raise ValueError(
            f"{hide_secrets(address)}: the address has a name, key or password in it, and would be "
            "kept with every version; give these to the store's client by its environment variables"
        )
    return address


def _name_file(sha256: str) -> str:
    return f"{sha256}.parquet"
