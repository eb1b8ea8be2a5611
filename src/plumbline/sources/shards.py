"""Shards that ingest wrote: each is compared with the listing before its rows are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.listing import LISTING, REMEDY, Shard, read_listing
from plumbline.contract.row_groups import read_row_groups

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ShardedSplit:
    """One split in the folder of its shards; DataError for what is not what the listing says."""

    folder: Path
    split: str

    def read(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """Return these columns (all, if None) of all rows, in order."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = []
        for shard in self._list_shards():
            with self._open(shard) as path:
                tables.append(pq.read_table(path, columns=columns, partitioning=None))
        return pa.concat_tables(tables)

    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator["pa.RecordBatch"]:
        """Yield the rows in order, a few thousand at a time; columns that are not there are not."""
        for shard in self._list_shards():
            with self._open(shard) as path:
                yield from read_row_groups(path, columns)

    def list_columns(self) -> list[str]:
        """Return the names of the columns."""
        import pyarrow.parquet as pq

        with self._open(self._list_shards()[0]) as path:
            return list(pq.read_schema(path).names)

    def _list_shards(self) -> list[Shard]:
        shards = read_listing(self.folder).list_split(self.split)
        if not shards:
            raise DataError(f"{self.folder / LISTING}: no shard of {self.split}; {REMEDY}")
        return shards

    @contextmanager
    def _open(self, shard: Shard) -> Iterator[Path]:
        """Yield the file of a shard, which is what the listing says."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / shard.name
        verify_shard(self.folder, shard)
        try:
            num_rows = pq.read_metadata(path).num_rows
            if num_rows != shard.rows:
                raise DataError(
                    f"{path}: {num_rows:,} rows, {self.folder / LISTING} has {shard.rows:,}; "
                    f"{REMEDY}"
                )
            yield path
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"{path}: cannot be read ({error}); {REMEDY}") from None


def verify_shard(folder: Path, shard: Shard) -> None:
    """Raise DataError that names the file of a shard which is gone, or has other bytes."""
    path = folder / shard.name
    if not path.is_file():
        raise DataError(f"{path}: not found, {folder / LISTING} names it; {REMEDY}")
    try:
        found = layout.digest(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {REMEDY}") from None
    if found != shard.sha256:
        raise DataError(
            f"{path}: digest mismatch: expected {shard.sha256[:12]} as in {folder / LISTING}, "
            f"found {found[:12]}; {REMEDY}"
        )
