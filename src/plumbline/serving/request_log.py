"""A sampled log of requests and answers in Parquet, which `plumbline drift` reads."""

import importlib
import io
import json
import logging
import random
import secrets
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from plumbline.contract.errors import ParamsError
from plumbline.serving import metrics
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer
from plumbline.serving.settings import Settings
from plumbline.sources.request_folder import PREFIX, SUFFIX, RequestFolder

FLUSH_S = 60.0
FLUSH_ROWS = 1000
FLUSH_BYTES = 8 << 20
MAX_BYTES = 64 << 20  # if more wait, the disk is too slow, and rows are left out
MAX_FILES = 10_000  # of a folder; the oldest are deleted
INT64 = range(-(2**63), 2**63)
Row = dict[str, Any]
Redact = Callable[[Row], Row | None]
log = logging.getLogger(__name__)


class RequestLog:
    """Collects rows in memory and writes them to a new file now and then, in its own thread."""

    def __init__(self, folder: RequestFolder | None, share: float, redact: Redact | None) -> None:
        self._folder = folder
        self._share = share
        self._redact = redact
        self._waiting: deque[tuple[list[Row], int]] = deque()  # of each request, and their bytes
        self._num_rows = 0
        self._num_bytes = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator["RequestLog"]:
        """Open the log for the block; at its end all rows are written."""
        folder = RequestFolder(settings.log_folder) if settings.log_folder else None
        request_log = cls(folder, settings.limits.log_share, load_redaction(settings.redact))
        if folder is None:
            yield request_log
            return
        thread = threading.Thread(target=request_log._run, name="request log")
        thread.start()
        try:
            yield request_log
        finally:
            request_log._closed = True
            request_log._wake.set()
            thread.join()

    def add(self, request: InferenceRequest, answer: Answer, request_id: str) -> None:
        """Add the rows of a request if it is in the sample and there is room."""
        if self._folder is None or random.random() >= self._share:  # noqa: S311  not for security
            return
        if self._num_bytes > MAX_BYTES:
            metrics.LOST_LOG_ROWS.labels("full").inc(request.num_rows)
            return
        shared = {
            "at": datetime.now(UTC),
            "request_id": request_id,
            "model": answer.cached.name,
            "version": answer.cached.version,
            "side": answer.variant,
            "ms": round(1000 * answer.seconds, 3),
        }
        rows = []
        for number in range(request.num_rows):
            row = dict(shared)
            for name, values in request.columns.items():
                row[f"input.{name}"] = values[number]
            for name, values in answer.columns.items():
                row[f"output.{name}"] = values[number]
            rows.append(row)
        num_bytes = sum(sys.getsizeof(repr(row)) for row in rows)
        with self._lock:
            self._waiting.append((rows, num_bytes))
            self._num_rows += len(rows)
            self._num_bytes += num_bytes
        if self._are_due:
            self._wake.set()

    def _run(self) -> None:
        while not (self._closed and not self._waiting):
            self._wake.wait(FLUSH_S)
            self._wake.clear()
            rows = self._take_rows()
            if self._redact:
                rows = _redact_rows(rows, self._redact)
            if rows and self._folder is not None:
                _write_file(rows, self._folder)
            if self._closed or self._are_due:
                self._wake.set()

    @property
    def _are_due(self) -> bool:
        """Whether there are enough rows for a file."""
        return self._num_rows >= FLUSH_ROWS or self._num_bytes >= FLUSH_BYTES

    def _take_rows(self) -> list[Row]:
        """Remove the rows for one file, of the oldest requests, and return them."""
        taken: list[Row] = []
        num_bytes = 0
        with self._lock:
            while self._waiting and num_bytes < FLUSH_BYTES:
                rows, size = self._waiting.popleft()
                taken += rows
                num_bytes += size
            self._num_rows -= len(taken)
            self._num_bytes -= num_bytes
        return taken


def _redact_rows(rows: list[Row], redact: Redact) -> list[Row]:
    """Return what `redact` keeps; a row with which it fails is not written at all."""
    kept, errors = [], []
    for row in rows:
        try:
            redacted = redact(dict(row))
            if redacted is not None:
                kept.append(dict(redacted))
        except Exception as error:  # noqa: BLE001  the user's own code; its text may quote the row
            errors.append(type(error).__name__)
    if errors:
        metrics.LOST_LOG_ROWS.labels("redact").inc(len(errors))
        log.warning("--redact failed (%s): %d rows are not logged", errors[0], len(errors))
    return kept


def _write_file(rows: list[Row], folder: RequestFolder) -> None:
    """Write a file; rows are lost where the disk is full, or a column has values of two types."""
    try:
        folder.write(_name_file, _encode_rows(rows))
    except Exception as error:  # noqa: BLE001  its text may quote a row
        metrics.LOST_LOG_ROWS.labels("write").inc(len(rows))
        reason = getattr(error, "strerror", None) or type(error).__name__
        log.warning("the request log cannot be written (%s): %d rows are lost", reason, len(rows))
        return
    metrics.LOGGED_ROWS.inc(len(rows))
    if folder.is_local:
        delete_outdated(folder, MAX_FILES)


def _encode_rows(rows: list[Row]) -> bytes:
    """Encode rows as a Parquet file with the columns of all of them; what a row lacks is null.

    Raises whatever pyarrow does where the values of a column differ in type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    columns = {name: _widen_numbers(values) for name, values in _gather_columns(rows).items()}
    pq.write_table(pa.Table.from_pydict(columns), content)
    return content.getvalue()


def _gather_columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Turn rows into columns; lists and objects become JSON text."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_encode_nested(row.get(name)) for row in rows] for name in names}


def _encode_nested(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _widen_numbers(values: list[Any]) -> list[Any]:
    """Make all numbers floats, if some are, or a whole number needs more than 64 bits."""
    numbers = [value for value in values if type(value) in (int, float)]
    if all(type(value) is int and value in INT64 for value in numbers):
        return values
    return [float(value) if type(value) is int else value for value in values]


def _name_file() -> str:
    """Name a new file by the time, which is after all of its requests, and chance."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return f"{PREFIX}{stamp}-{secrets.token_hex(8)}{SUFFIX}"


def delete_outdated(folder: RequestFolder, max_files: int) -> None:
    """Delete old files; what cannot be deleted is logged, and tried again with the next file."""
    try:
        for name in folder.list_names()[:-max_files]:
            folder.delete(name)
    except OSError as error:
        log.warning(
            "old files of the request log cannot be deleted (%s); delete them by hand",
            error.strerror,
        )


def load_redaction(name: str | None) -> Redact | None:
    """Import MODULE:FUNCTION, which gets each row before it is logged and returns what to keep.

    It may return None to drop the row. Raises ParamsError if it cannot be imported.
    """
    if name is None:
        return None
    module, _, function = name.partition(":")
    try:
        redact: Redact = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParamsError(
            f"--redact {name}: {error}; expected MODULE:FUNCTION that can be imported"
        ) from None
    return redact
