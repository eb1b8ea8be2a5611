"""Rows of any number, as Arrow batches in order, and the three verbs that look at all of them.

A task hands functions of one batch to `map` and `fold`, and names columns to `find_first`. Who runs
these decides where the batches are, and how many are in memory. Here it is a loop over one batch at
a time.
"""

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

# Names that no column of data has.
ROW = "#row"  # the column with the number of each row, from 0
FIRST = "#first"  # the column that `find_first` adds
T = TypeVar("T")


class RowBatches(Protocol):
    """A table in batches, each of them with a column ROW; it may be read any number of times."""

    def __iter__(self) -> Iterator["pa.RecordBatch"]:
        """Return the batches, in order."""
        ...

    def map(self, change: Callable[["pa.RecordBatch"], "pa.RecordBatch"]) -> "RowBatches":
        """Return the rows that `change` makes of each batch: other columns, or fewer rows."""
        ...

    def fold(self, measure: Callable[["pa.RecordBatch"], T], merge: Callable[[T, T], T]) -> T:
        """Measure each batch, and merge what was measured, in order; there is a batch."""
        ...

    def find_first(self, keys: Sequence[str]) -> "RowBatches":
        """Return the rows with a column FIRST: the number of the earliest row with these keys."""
        ...


class LocalRows:
    """Rows that one process reads, one batch at a time."""

    def __init__(self, read: Callable[[], Iterator["pa.RecordBatch"]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator["pa.RecordBatch"]:
        return self._read()

    def map(self, change: Callable[["pa.RecordBatch"], "pa.RecordBatch"]) -> "LocalRows":
        """Return the rows that `change` makes of each batch."""
        return LocalRows(lambda: map(change, self))

    def fold(self, measure: Callable[["pa.RecordBatch"], T], merge: Callable[[T, T], T]) -> T:
        """Measure each batch, and merge what was measured, in order; there is a batch."""
        return reduce(merge, map(measure, self))

    def find_first(self, keys: Sequence[str]) -> "LocalRows":
        """Return the rows with a column FIRST; it takes eight bytes a row.

        Keys are compared by a hash of 64 bits.
        """
        first = _find_first(self, keys)

        def read() -> Iterator["pa.RecordBatch"]:
            start = 0
            for batch in self:
                end = start + batch.num_rows
                yield put_column(batch, FIRST, _make_array(first[start:end]))
                start = end

        return LocalRows(read)


def store_rows(rows: RowBatches) -> LocalRows:
    """Write `rows` to a temporary file, and return them from there: to compute them once.

    The file is gone with what is returned.
    """
    import pyarrow as pa

    descriptor, name = tempfile.mkstemp(prefix="plumbline-", suffix=".arrow")
    writer = None
    with os.fdopen(descriptor, "wb") as file:
        for batch in rows:
            if writer is None:
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                writer = pa.ipc.new_stream(file, batch.schema, options=options)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()

    def read() -> Iterator["pa.RecordBatch"]:
        if writer is not None:
            # Each reader opens it, so that two do not share a position.
            with pa.OSFile(name) as source, pa.ipc.open_stream(source) as reader:
                yield from reader

    stored = LocalRows(read)
    weakref.finalize(stored, Path(name).unlink, missing_ok=True)
    return stored


def put_column(batch: "pa.RecordBatch", name: str, values: "pa.Array") -> "pa.RecordBatch":
    """Return the batch with this column, in place of one that has the name."""
    if name in batch.schema.names:
        batch = batch.drop_columns([name])
    return batch.append_column(name, values)


def hash_columns(batch: "pa.RecordBatch", names: Sequence[str]) -> "np.ndarray":
    """Return a 64-bit hash of these columns, together, of each row."""
    import pandas as pd

    return pd.util.hash_pandas_object(batch.select(names).to_pandas(), index=False).to_numpy()


def _find_first(rows: RowBatches, keys: Sequence[str]) -> "np.ndarray":
    """Return for each row the number of the earliest one with its keys."""
    import numpy as np

    hashes = [np.zeros(0, dtype=np.uint64)]
    numbers = [np.zeros(0, dtype=np.int64)]
    for batch in rows:
        hashes.append(hash_columns(batch, keys))
        numbers.append(batch[ROW].to_numpy())
    all_hashes = np.concatenate(hashes)
    hashes.clear()
    order = np.argsort(all_hashes, kind="stable")
    all_hashes = all_hashes[order]
    is_start = np.ones(len(order), dtype=bool)
    np.not_equal(all_hashes[1:], all_hashes[:-1], out=is_start[1:])
    del all_hashes
    sizes = np.diff(np.flatnonzero(is_start), append=len(order))
    first = np.empty(len(order), dtype=np.int64)
    first[order] = np.concatenate(numbers)[np.repeat(order[is_start], sizes)]
    return first


def _make_array(values: "np.ndarray") -> "pa.Array":
    import pyarrow as pa

    return pa.array(values)
