"""Rows that wait for the thread that writes the request log, within limits of number and memory."""

import sys
import threading
from collections import deque
from typing import Any

from plumbline.serving.log_file import Row

FLUSH_ROWS = 1000
FLUSH_BYTES = 8 << 20
MAX_ROWS = 20_000  # if more wait, the disk is too slow, and rows are left out
MAX_BYTES = 64 << 20  # of memory, without the last request


class WaitingRows:
    """Rows that one thread adds and another one takes."""

    def __init__(self) -> None:
        self._requests: deque[tuple[list[Row], int]] = deque()  # rows, and their bytes
        self._num_rows = 0
        self._num_bytes = 0
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether no row waits."""
        return not self._requests

    @property
    def has_room(self) -> bool:
        """Whether the rows of one more request may be added."""
        return self._num_rows <= MAX_ROWS and self._num_bytes <= MAX_BYTES

    @property
    def are_due(self) -> bool:
        """Whether there are enough for a file."""
        return self._num_rows >= FLUSH_ROWS or self._num_bytes >= FLUSH_BYTES

    def add(self, rows: list[Row]) -> None:
        """Add the rows of one request."""
        num_bytes = sum(map(_measure_bytes, rows))
        with self._lock:
            self._requests.append((rows, num_bytes))
            self._num_rows += len(rows)
            self._num_bytes += num_bytes

    def take(self) -> list[Row]:
        """Remove the rows for one file, of the oldest requests, and return them."""
        taken: list[Row] = []
        taken_bytes = 0
        with self._lock:
            while self._requests and taken_bytes < FLUSH_BYTES:
                rows, num_bytes = self._requests.popleft()
                taken += rows
                taken_bytes += num_bytes
            self._num_rows -= len(taken)
            self._num_bytes -= taken_bytes
        return taken


def _measure_bytes(value: Any) -> int:
    """Measure the memory of a JSON value; what it holds twice counts twice."""
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        size += sum(map(sys.getsizeof, value))
        return size + sum(map(_measure_bytes, value.values()))
    if isinstance(value, list):
        return size + sum(map(_measure_bytes, value))
    return size
