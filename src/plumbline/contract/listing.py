"""The listing of a folder of shards: what identifies the rows, without their bytes.

A data set of any size is stored as files of a bounded number of rows, its shards. Their listing
has the name, split, number of rows and SHA-256 of each. Whoever reads a shard compares it with the
listing (sources/shards.py).
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.contract.layout import TEMPORARY
from plumbline.contract.task import SPLITS

LISTING = "listing.json"  # in the folder of the shards
REMEDY = "run `dvc repro -f ingest`"


@dataclass(frozen=True)
class Shard:
    """A file of one split; its rows follow those of the shard before it."""

    name: str
    split: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class Listing:
    """All shards, one split after another, those of a split in the order of its rows."""

    shards: tuple[Shard, ...] = ()
    # Where the shards are, each named by its SHA-256; None: in the folder of the listing.
    address: str | None = None

    def digest(self) -> str:
        """Return the digest that a folder with just these shards in it would have."""
        return digest_names((shard.name, shard.sha256) for shard in self.shards)

    def list_split(self, split: str) -> list[Shard]:
        """Return the shards of a split, in order."""
        return [shard for shard in self.shards if shard.split == split]

    def replace_split(self, split: str, shards: Iterable[Shard]) -> "Listing":
        """Return the listing with these shards of `split`, in place of those that it has."""
        own = list(shards)
        ordered = []
        for name in SPLITS:
            ordered += own if name == split else self.list_split(name)
        return Listing(tuple(ordered), self.address)

    def build_content(self) -> dict[str, Any]:
        """Return what the file has, as JSON values."""
        content: dict[str, Any] = {"shards": [asdict(shard) for shard in self.shards]}
        return content if self.address is None else content | {"address": self.address}


def name_shard(split: str, number: int) -> str:
    """Return the name of the shard of a split with this number, from 0."""
    return f"{split}.{number:05}.parquet"


def has_listing(folder: Path) -> bool:
    """Whether the folder holds shards; a task with few rows may write files of its own."""
    return (folder / LISTING).is_file()


def read_listing(folder: Path) -> Listing:
    """Read the listing of a folder; DataError where there is none, or it is damaged."""
    path = folder / LISTING
    if not path.is_file():
        raise DataError(f"{path}: not found; {REMEDY}")
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {REMEDY}") from None
    try:
        listing = _build_listing(content)
        expected = _list_names(listing)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: not a listing of shards ({type(error).__name__}: {error}); {REMEDY}"
        ) from None
    for shard, name in zip(listing.shards, expected, strict=True):
        if shard.name != name:
            raise DataError(f"{path}: expected the shard {name}, found {shard.name!r}; {REMEDY}")
    return listing


def require_listed(folder: Path, listing: Listing) -> None:
    """Raise DataError for a file in the folder that the listing does not name.

    A digest of the listing says nothing of it, and a task may read it. At an address, the listing
    is alone in its folder. Temporary files of a killed process, which nobody reads, are left out.
    """
    known = {LISTING}
    if listing.address is None:
        known |= {shard.name for shard in listing.shards}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in known and not path.is_dir() and not fnmatch(path.name, f".*{TEMPORARY}"):
            raise DataError(f"{path}: {folder / LISTING} does not name this file; {REMEDY}")


def digest_names(files: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of files by their names and digests, whatever the order is."""
    total = hashlib.sha256()
    for name, sha256 in sorted(files):
        total.update(f"{name}\0{sha256}\n".encode())
    return total.hexdigest()


def _build_listing(content: Any) -> Listing:
    """Build a listing from a JSON value; raise an error that says why where it is not one.

    The error is a LookupError, TypeError, AttributeError or ValueError. Whether a shard is what the
    listing says is checked when it is read.
    """
    shards = tuple(Shard(**item) for item in content["shards"])
    for shard in shards:
        types = [type(value) for value in asdict(shard).values()]
        if types != [str, str, int, str]:
            raise TypeError(f"a shard is {asdict(shard)}")
        for text in (shard.name, shard.split, shard.sha256):
            text.encode()  # ValueError for half of a surrogate pair
    address = content.get("address")
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address is {address!r}")
    (address or "").encode()
    return Listing(shards, address)


def _list_names(listing: Listing) -> list[str]:
    """Return the names that the shards of each split must have."""
    counts: dict[str, int] = {}
    names = []
    for shard in listing.shards:
        number = counts.setdefault(shard.split, 0)
        counts[shard.split] += 1
        names.append(name_shard(shard.split, number))
    return names
