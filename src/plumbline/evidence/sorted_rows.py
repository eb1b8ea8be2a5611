"""Rows in a file in the order of a key, of which one range of keys is read at a time.

Two such files are joined a range at a time: rows with one key are in the same range of both. So
memory holds MAX_ROWS rows, and those with one key, however many rows there are.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

import numpy as np

from plumbline.contract.array_files import ArrayWriter, StoredArray

MAX_ROWS = 50_000  # that are sorted, or read, at once; of those that are read about so many
NUM_KEYS = 2**64


class SortedRows:
    """Rows of an array with named fields: `key`, a hash of 64 bits, and `number`, their order."""

    def __init__(self, stored: StoredArray, key: str, bounds: Sequence[int]) -> None:
        self._stored = stored
        self._key = key
        self._runs = np.split(stored.rows, bounds)  # each in the order of the key

    def __len__(self) -> int:
        return len(self._stored.rows)

    def read_range(self, first: int, last: int) -> np.ndarray:
        """Return the rows whose key is from `first` to `last`, in the order of their numbers."""
        found = []
        for run in self._runs:
            keys = run[self._key]
            start = np.searchsorted(keys, np.uint64(first), side="left")
            end = np.searchsorted(keys, np.uint64(last), side="right")
            found.append(run[start:end].copy())
            self._stored.release_memory()
        rows = np.concatenate(found)
        return rows[np.argsort(rows["number"])]


class RowSorter(AbstractContextManager["RowSorter"]):
    """Writes rows to a temporary file in runs of MAX_ROWS, each in the order of the key."""

    def __init__(self, dtype: Any, key: str) -> None:
        self._dtype = np.dtype(dtype)
        self._key = key
        self._writer = ArrayWriter(dtype)
        self._ends = [0]  # of the runs
        self._waiting: list[np.ndarray] = []
        self._num_waiting = 0

    def append(self, rows: np.ndarray) -> None:
        """Add rows (rows,)."""
        self._waiting.append(rows)
        self._num_waiting += len(rows)
        if self._num_waiting >= MAX_ROWS:
            self._write_run()

    def finish(self) -> SortedRows:
        """Return what was added; it stays readable when this sorter is closed."""
        self._write_run()
        return SortedRows(self._writer.finish(), self._key, self._ends[1:-1])

    def __exit__(self, *error: Any) -> None:
        self._writer.__exit__(*error)

    def _write_run(self) -> None:
        run = np.concatenate([np.empty(0, self._dtype), *self._waiting])
        self._writer.append(run[np.argsort(run[self._key])])
        self._ends.append(self._ends[-1] + len(run))
        self._waiting = []
        self._num_waiting = 0


def read_ranges(one: SortedRows, other: SortedRows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield all rows of both, those of one range of keys at a time."""
    num_ranges = max(len(one), len(other)) // MAX_ROWS + 1
    bounds = [number * NUM_KEYS // num_ranges for number in range(num_ranges + 1)]
    for first, end in pairwise(bounds):
        yield one.read_range(first, end - 1), other.read_range(first, end - 1)
