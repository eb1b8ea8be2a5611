"""Shards that ingest wrote: each is compared with the listing before its rows are read."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from plumbline.contract.errors import DataError
from plumbline.contract.listing import LISTING, REMEDY, Listing, Shard, read_listing
from plumbline.contract.row_groups import read_row_groups
from plumbline.process.files import digest_path
from plumbline.sources.shard_copies import COPIES
from plumbline.sources.shard_store import ShardStore

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ShardReader:
    """Reads one shard, wherever its bytes are; DataError for what is not what the listing says."""

    folder: Path  # of the listing, and of the shard where it has no address
    address: str | None
    shard: Shard

    @contextmanager
    def open(self) -> Iterator[Path | IO[bytes]]:
        """Yield the file: its path, or an open copy where the shard is at an address."""
        if self.address is None:
            path = self.folder / self.shard.name
            if not path.is_file():
                listing = self.folder / LISTING
                raise DataError(f"{self._shown}: not found, {listing} names it; {REMEDY}")
            self._verify(path)
            yield path
            return
        with COPIES.open(self.address, self.shard.sha256) as copy:
            try:
                self._verify(copy)
            except DataError:
                COPIES.drop(self.address, self.shard.sha256)
                raise
            yield copy

    def read(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return these columns (all, if None) of all rows, in order."""
        import pyarrow.parquet as pq

        with self.open() as file, self._explain_damage():
            names = None if columns is None else list(columns)
            return pq.read_table(file, columns=names, partitioning=None)

    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in order, a few thousand at a time; missing columns are omitted."""
        with self.open() as file, self._explain_damage():
            yield from read_row_groups(file, columns)

    def list_columns(self) -> list[str]:
        """Return the names of the columns."""
        import pyarrow.parquet as pq

        with self.open() as file, self._explain_damage():
            return list(pq.read_schema(file).names)

    @property
    def _shown(self) -> str:
        if self.address is not None:
            return ShardStore(self.address).show(self.shard.sha256)
        return str(self.folder / self.shard.name)

    def _verify(self, file: Path | IO[bytes]) -> None:
        import pyarrow.parquet as pq

        shard = self.shard
        listing = self.folder / LISTING
        with self._explain_damage():
            found = _digest(file)
            if found != shard.sha256:
                raise DataError(
                    f"{self._shown}: digest mismatch: expected {shard.sha256[:12]} as in "
                    f"{listing}, found {found[:12]}; {REMEDY}"
                )
            num_rows = pq.read_metadata(file).num_rows
        if num_rows != shard.rows:
            raise DataError(
                f"{self._shown}: {num_rows:,} rows, {listing} has {shard.rows:,}; {REMEDY}"
            )

    @contextmanager
    def _explain_damage(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"{self._shown}: cannot be read ({error}); {REMEDY}") from None


def _digest(file: Path | IO[bytes]) -> str:
    if isinstance(file, Path):
        return digest_path(file)
    digest = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]  # it has readinto
    file.seek(0)
    return digest.hexdigest()


def list_readers(folder: Path, split: str) -> list[ShardReader]:
    """Return a reader for each shard of a split, in order; DataError where there is none."""
    listing = read_listing(folder)
    readers = [ShardReader(folder, listing.address, each) for each in listing.list_split(split)]
    if not readers:
        raise DataError(f"{folder / LISTING}: no shard of {split}; {REMEDY}")
    return readers


def verify_files(folder: Path, listing: Listing) -> None:
    """Raise DataError for a shard whose file in the folder is gone, or is not as listed."""
    if listing.address is None:
        for shard in listing.shards:
            with ShardReader(folder, None, shard).open():
                pass
