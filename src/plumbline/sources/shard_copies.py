"""Copies of shards at an address: a process fetches each one once, as long as there is room.

A copy is a file without a name: the kernel removes it with the process, also when that is killed.
"""

import io
import os
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import IO, TYPE_CHECKING

from plumbline.sources.shard_store import ShardStore

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = 2**30  # of the copies of a process, but for one that is larger
MAX_COPIES = 100  # each is an open file


class ShardCopies:
    """The copies of this process; the one that was read longest ago makes room."""

    def __init__(self) -> None:
        # The handles of open files, which end with the process.
        self._handles: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, address: str, sha256: str) -> IO[bytes]:
        """Return a copy of a shard, fetched if there is none; DataError where that fails."""
        key = (address, sha256)
        with self._lock:
            if key not in self._handles:
                self._handles[key] = _fetch(address, sha256)
            self._handles.move_to_end(key)
            self._make_room()
            return io.BufferedReader(_CopyReader(self._handles[key]))

    def drop(self, address: str, sha256: str) -> None:
        """Forget a copy that is not what it should be."""
        with self._lock:
            handle = self._handles.pop((address, sha256), None)
        if handle is not None:
            os.close(handle)

    def _make_room(self) -> None:
        num_bytes = sum(map(_measure, self._handles.values()))
        while len(self._handles) > 1 and (num_bytes > MAX_BYTES or len(self._handles) > MAX_COPIES):
            _, handle = self._handles.popitem(last=False)
            num_bytes -= _measure(handle)
            os.close(handle)


COPIES = ShardCopies()


def _measure(handle: int) -> int:
    return os.fstat(handle).st_size


def _fetch(address: str, sha256: str) -> int:
    """Return the handle of a copy, which has no name any more."""
    with tempfile.TemporaryDirectory(prefix="plumbline-shard-") as folder:
        path = Path(folder, "copy")
        ShardStore(address).fetch(sha256, path)
        return os.open(path, os.O_RDONLY)


class _CopyReader(io.RawIOBase):
    """Reads an open file from a position of its own, whoever else reads it or closes it."""

    def __init__(self, handle: int) -> None:
        self._handle = os.dup(handle)
        self._position = 0

    def readable(self) -> bool:
        """Say yes to BufferedReader."""
        return True

    def seekable(self) -> bool:
        """Say yes to BufferedReader."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, counted from the beginning, from here, or from the end."""
        starts = {
            os.SEEK_SET: 0,
            os.SEEK_CUR: self._position,
            os.SEEK_END: _measure(self._handle),
        }
        self._position = starts[whence] + offset
        return self._position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill the start of `buffer`; 0 bytes are the end of the file."""
        view = memoryview(buffer)
        data = os.pread(self._handle, len(view), self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file for this reader."""
        if not self.closed:
            os.close(self._handle)
        super().close()
