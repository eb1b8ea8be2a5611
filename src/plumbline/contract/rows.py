"""Rows of any number, as Arrow batches in order, and the three verbs that look at all of them.

A task hands functions of one batch to `map` and `fold`, and names columns to `find_first`. Who runs
these decides where the batches are, and how many are in memory. Here it is a loop over one batch at
a time.
"""

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
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
        """Return the rows with a column FIRST, which takes 8 bytes a row, and 33 until it is found.

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

    The file is gone with what is returned, and with the last that reads it.
    """
    stored = _StoredRows()
    stored.write(rows)
    return LocalRows(stored.read)


class _StoredRows:
    """A temporary file of batches, which is removed with the last reference to this."""

    def __init__(self) -> None:
        descriptor, name = tempfile.mkstemp(prefix="plumbline-", suffix=".arrow")
        os.close(descriptor)
        self._path = Path(name)
        weakref.finalize(self, self._path.unlink, missing_ok=True)

    def write(self, rows: RowBatches) -> None:
        """Write all batches; they have one schema."""
        import pyarrow as pa

        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with ExitStack() as stack:
            file = stack.enter_context(self._path.open("wb"))
            writer = None
            for batch in rows:
                if writer is None:
                    stream = pa.ipc.new_stream(file, batch.schema, options=options)
                    writer = stack.enter_context(stream)
                writer.write_batch(batch)

    def read(self) -> Iterator["pa.RecordBatch"]:
        """Yield the batches; each reader opens the file, so that two do not share a position."""
        import pyarrow as pa

        if self._path.stat().st_size:  # else there was no batch, and so no schema
            with pa.OSFile(str(self._path)) as source, pa.ipc.open_stream(source) as reader:
                yield from reader


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

    hashes, numbers = _join_numbers(rows, keys)
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    first = np.arange(len(order))  # of sorted hashes: the place of the first that is equal
    first[1:][hashes[1:] == hashes[:-1]] = 0
    del hashes
    np.maximum.accumulate(first, out=first)
    first = order[first]
    first = numbers[first]
    in_order = np.empty_like(first)
    in_order[order] = first
    return in_order


def _join_numbers(rows: RowBatches, keys: Sequence[str]) -> tuple["np.ndarray", "np.ndarray"]:
    """Return the hash of the keys of each row, and its number."""
    import numpy as np

    hashes = [np.zeros(0, dtype=np.uint64)]
    numbers = [np.zeros(0, dtype=np.int64)]
    for batch in rows:
        hashes.append(hash_columns(batch, keys))
        numbers.append(batch[ROW].to_numpy())
    return np.concatenate(hashes), np.concatenate(numbers)


def _make_array(values: "np.ndarray") -> "pa.Array":
    import pyarrow as pa

    return pa.array(values)
