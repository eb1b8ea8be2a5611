"""Arrays that are as long as the data, in files instead of memory.

The files have no name: however the process ends, the kernel removes them.
"""

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

BLOCK = 1 << 20  # numbers that are read at once


class StoredArray:
    """An array of one or two axes in a file; its `rows` are read when they are used."""

    def __init__(self, rows: np.ndarray, mapping: mmap.mmap | None) -> None:
        self.rows = rows
        self._mapping = mapping  # of the file, which the rows are a view of

    def iterate_blocks(self) -> Iterator[np.ndarray]:
        """Yield all rows in order, up to BLOCK numbers at a time."""
        size = max(1, BLOCK // max(1, self.rows[:1].size))
        for start in range(0, len(self.rows), size):
            yield self.rows[start : start + size]
            self.release_memory()

    def release_memory(self) -> None:
        """Give back what was read: its pages count as memory of this process until then."""
        if self._mapping is not None:
            self._mapping.madvise(mmap.MADV_DONTNEED)


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Writes the rows of an array into a temporary file, in order."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed on exit)
        self._num_rows = 0
        self._row_shape: tuple[int, ...] = ()

    def append(self, rows: np.ndarray) -> None:
        """Write rows (rows,) or (rows, columns)."""
        self._file.write(np.ascontiguousarray(rows, self._dtype).data)
        self._num_rows += len(rows)
        self._row_shape = rows.shape[1:]

    def finish(self) -> StoredArray:
        """Return what was written; it stays readable when this writer is closed."""
        shape = (self._num_rows, *self._row_shape)
        self._file.flush()
        if self._file.tell() == 0:
            return StoredArray(np.empty(shape, self._dtype), None)  # nothing can be mapped
        mapping = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        mapping.madvise(mmap.MADV_RANDOM)  # a row is read without its neighbours
        return StoredArray(np.frombuffer(mapping, self._dtype).reshape(shape), mapping)

    def __exit__(self, *error: Any) -> None:
        self._file.close()
