"""The rows of a split in numbered Parquet files: train.00000.parquet, train.00001.parquet ...

Equal rows give equal bytes, and DVC moves only the files that changed.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, explain_damage
from plumbline.tables.parquet_batches import BatchWriter, read_row_groups

if TYPE_CHECKING:
    import pyarrow as pa

FILE_ROWS = 50_000  # of each file of a split but the last
REMEDY = "run `dvc repro -f ingest`"


def list_files(folder: Path, split: str) -> list[Path]:
    """Return the files of a split, in order; DataError where there is none, or one is missing."""
    files = sorted(folder.glob(f"{split}.*.parquet"))
    for number in range(max(1, len(files))):
        expected = _name_file(folder, split, number)
        if number == len(files) or files[number] != expected:
            raise DataError(f"{expected}: not found; {REMEDY}")
    return files


def read_split(folder: Path, split: str, columns: list[str] | None = None) -> "pa.Table":
    """Return these columns (all, if None) of all rows of a split, in order.

    Raises DataError where there is none, or a file of it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for path in list_files(folder, split):
        with explain_damage(path, REMEDY):
            tables.append(pq.read_table(path, columns=columns, partitioning=None))
    return pa.concat_tables(tables)


def read_split_batches(
    folder: Path, split: str, columns: Sequence[str] | None = None
) -> Iterator["pa.RecordBatch"]:
    """Yield the rows in order, a few thousand at a time; missing columns are omitted."""
    for path in list_files(folder, split):
        with explain_damage(path, REMEDY):
            yield from read_row_groups(path, columns)


def read_metadata(path: Path) -> Any:
    """Return what Parquet says of a file: columns (`schema.names`) and `num_rows`."""
    import pyarrow.parquet as pq

    with explain_damage(path, REMEDY):
        return pq.read_metadata(path)


def write_split(folder: Path, split: str, table: "pa.Table") -> None:
    """Write all rows of a split, in place of those in the folder."""
    for path in folder.glob(f"{split}.*.parquet"):
        path.unlink()
    with SplitWriter(folder, split, table.schema) as writer:
        for batch in table.to_batches():
            writer.add(batch)


class SplitWriter(AbstractContextManager["SplitWriter"]):
    """Takes the rows of one split; one without rows has a file that says what its columns are."""

    def __init__(self, folder: Path, split: str, schema: "pa.Schema") -> None:
        self._folder = folder
        self._split = split
        self._schema = schema
        self._num_files = 0
        self._begin()

    def add(self, rows: "pa.RecordBatch") -> None:
        """Take any number of rows of the schema."""
        while rows.num_rows:
            if self._num_rows == FILE_ROWS:
                self._writer.__exit__(None)
                self._begin()
            room = FILE_ROWS - self._num_rows
            self._writer.add(rows.slice(0, room))
            self._num_rows += min(room, rows.num_rows)
            rows = rows.slice(room)

    def __exit__(self, *error: Any) -> None:
        self._writer.__exit__(*error)

    def _begin(self) -> None:
        path = _name_file(self._folder, self._split, self._num_files)
        self._writer = BatchWriter(path, self._schema)
        self._num_files += 1
        self._num_rows = 0


def _name_file(folder: Path, split: str, number: int) -> Path:
    return folder / f"{split}.{number:05}.parquet"
