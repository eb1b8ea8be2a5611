"""Writes the rows of a split as shards: equal rows give equal bytes, and so an equal listing."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.listing import (
    LISTING,
    Listing,
    Shard,
    has_listing,
    name_shard,
    read_listing,
)
from plumbline.contract.row_groups import BATCH_ROWS
from plumbline.contract.rows import PART_ROWS
from plumbline.process.files import digest_path, write_json
from plumbline.sources.shard_store import ShardStore
from plumbline.tables.parquet_batches import BatchWriter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SHARD_ROWS = PART_ROWS  # of each shard of a split but the last


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """Takes the rows of one split; `shards` are what was written, once the block has ended.

    They go to `store`, if there is one, each when it is full; else into `folder`. A split without
    rows has one shard, which says what its columns are.
    """

    def __init__(
        self, folder: Path, split: str, schema: "pa.Schema", store: ShardStore | None = None
    ) -> None:
        self.shards: list[Shard] = []
        self._folder = folder
        self._split = split
        self._schema = schema
        self._store = store
        self._begin()

    def add(self, rows: "pa.RecordBatch", sizes: "np.ndarray") -> None:
        """Take any number of rows of the schema; `sizes` says about what each of them holds."""
        while rows.num_rows:
            if self._num_rows == SHARD_ROWS:
                self._end()
                self._begin()
            room = SHARD_ROWS - self._num_rows
            self._writer.add(rows.slice(0, room), sizes[:room])
            self._num_rows += min(room, rows.num_rows)
            rows = rows.slice(room)
            sizes = sizes[room:]

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self._end()
        else:
            self._writer.__exit__(*error)

    def _begin(self) -> None:
        self._path = self._folder / name_shard(self._split, len(self.shards))
        self._writer = BatchWriter(self._path, self._schema)
        self._num_rows = 0

    def _end(self) -> None:
        self._writer.__exit__(None)
        self.shards.append(_keep_shard(self._path, self._split, self._num_rows, self._store))


def write_listing(folder: Path, listing: Listing) -> None:
    """Write the listing of a folder; shards that it does not name are none of the data set."""
    write_json(folder / LISTING, listing.build_content())


def write_split(folder: Path, split: str, table: "pa.Table") -> None:
    """Write all rows of a split, in place of those in the folder, and into its listing."""
    import pyarrow.parquet as pq

    before = read_listing(folder) if has_listing(folder) else Listing()
    store = None if before.address is None else ShardStore(before.address)
    for shard in before.list_split(split):
        (folder / shard.name).unlink(missing_ok=True)
    shards: list[Shard] = []
    for start in range(0, max(1, len(table)), SHARD_ROWS):
        path = folder / name_shard(split, len(shards))
        rows = table.slice(start, SHARD_ROWS)
        pq.write_table(rows, path, compression="zstd", row_group_size=BATCH_ROWS)
        shards.append(_keep_shard(path, split, len(rows), store))
    write_listing(folder, before.replace_split(split, shards))


def _keep_shard(path: Path, split: str, num_rows: int, store: ShardStore | None) -> Shard:
    """Describe a complete shard, and move it into the store, if there is one."""
    shard = Shard(path.name, split, num_rows, digest_path(path))
    if store is not None:
        store.keep(path, shard.sha256)
        path.unlink()
    return shard
