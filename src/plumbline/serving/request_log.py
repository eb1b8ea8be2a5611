"""A sampled log of requests and answers in Parquet, which `plumbline drift` reads."""

import importlib
import json
import logging
import os
import random
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.serving import metrics
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer
from plumbline.serving.settings import Settings

FLUSH_ROWS = 1000
FLUSH_S = 60.0
MAX_WAITING = 20_000  # rows; if more wait, the disk is too slow, and rows are left out
MAX_FILES = 1000  # the oldest are deleted
Row = dict[str, Any]
Redact = Callable[[Row], Row | None]
log = logging.getLogger(__name__)


class RequestLog:
    """Collects rows in memory and writes them to a new file now and then, in its own thread."""

    def __init__(self, folder: Path | None, share: float, redact: Redact | None) -> None:
        self._folder = folder
        self._share = share
        self._redact = redact
        self._rows: list[Row] = []
        self._wake = threading.Event()
        self._closed = False
        self._num_files = 0

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator["RequestLog"]:
        """Open the log for the block; at its end all rows are written."""
        request_log = cls(settings.log, settings.log_share, load_redaction(settings.redact))
        if settings.log is None:
            yield request_log
            return
        settings.log.mkdir(parents=True, exist_ok=True)
        thread = threading.Thread(target=request_log._run, name="request log")
        thread.start()
        try:
            yield request_log
        finally:
            request_log._closed = True
            request_log._wake.set()
            thread.join()

    def add(self, request: InferenceRequest, answer: Answer) -> None:
        """Add the rows of a request if it is in the sample and there is room."""
        if self._folder is None or random.random() >= self._share:  # noqa: S311  not for security
            return
        if len(self._rows) > MAX_WAITING:
            return
        shared = {
            "at": datetime.now(UTC),
            "model": answer.cached.name,
            "version": answer.cached.version,
            "side": answer.variant,
            "ms": round(1000 * answer.seconds, 3),
        }
        for number in range(request.num_rows):
            row = dict(shared)
            for name, values in request.columns.items():
                row[f"input.{name}"] = values[number]
            for name, values in answer.columns.items():
                row[f"output.{name}"] = values[number]
            self._rows.append(row)
        if len(self._rows) >= FLUSH_ROWS:
            self._wake.set()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait(FLUSH_S)
            self._wake.clear()
            is_last = self._closed  # rows that were added before it was closed are written now
            rows = self._rows
            self._rows = []
            try:
                self._write_file(rows)
            except OSError as error:
                log.warning(
                    "the request log cannot be written (%s): %d rows are lost",
                    error.strerror,
                    len(rows),
                )

    def _write_file(self, rows: list[Row]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._redact:
            rows = _redact_rows(rows, self._redact)
        if not rows or self._folder is None:
            return
        table = pa.Table.from_pylist([_encode_nested(row) for row in rows])
        self._num_files += 1
        path = self._folder / f".{secrets.token_hex(8)}.parquet"
        with layout.write_aside(path) as partial:
            pq.write_table(table, partial)
        # The name tells when the file becomes visible: after all of its requests.
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        path.rename(self._folder / f"requests-{stamp}-{os.getpid()}-{self._num_files}.parquet")
        metrics.LOGGED_ROWS.inc(len(rows))
        for old in sorted(self._folder.glob("requests-*.parquet"))[:-MAX_FILES]:
            old.unlink(missing_ok=True)


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


def _redact_rows(rows: list[Row], redact: Redact) -> list[Row]:
    redacted = [redact(dict(row)) for row in rows]
    return [row for row in redacted if row is not None]


def _encode_nested(row: Row) -> Row:
    """Replace lists and objects by JSON text."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
        for name, value in row.items()
    }
