"""A sampled log of requests and answers in Parquet, which `plumbline drift` reads."""

import importlib
import io
import json
import logging
import random
import re
import secrets
import socket
import threading
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

FLUSH_ROWS = 1000
FLUSH_S = 60.0
MAX_WAITING = 20_000  # rows; if more wait, the disk is too slow, and rows are left out
MAX_FILES = 1000  # of each host that writes to a folder; the oldest are deleted
Row = dict[str, Any]
Redact = Callable[[Row], Row | None]
log = logging.getLogger(__name__)


class RequestLog:
    """Collects rows in memory and writes them to a new file now and then, in its own thread."""

    def __init__(self, folder: RequestFolder | None, share: float, redact: Redact | None) -> None:
        self._folder = folder
        self._share = share
        self._redact = redact
        self._rows: list[Row] = []
        self._wake = threading.Event()
        self._closed = False

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator["RequestLog"]:
        """Open the log for the block; at its end all rows are written."""
        folder = RequestFolder(settings.log) if settings.log else None
        request_log = cls(folder, settings.log_share, load_redaction(settings.redact))
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
        if len(self._rows) > MAX_WAITING:
            return
        shared = {
            "at": datetime.now(UTC),
            "request_id": request_id,
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
        content = io.BytesIO()
        pq.write_table(table, content)
        self._folder.write(lambda: name_file(socket.gethostname()), content.getvalue())
        metrics.LOGGED_ROWS.inc(len(rows))
        if self._folder.is_local:
            for name in list_outdated(self._folder.list_names()):
                self._folder.delete(name)


def name_file(host: str) -> str:
    """Name a new file by the time, which is after all of its requests, the host, and chance.

    In containers process numbers are equal, and a host that is replaced may keep its name.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    host = re.sub(r"[^\w.]", "_", host, flags=re.ASCII)[:63]
    return f"{PREFIX}{stamp}-{host}-{secrets.token_hex(6)}{SUFFIX}"


def list_outdated(names: list[str]) -> list[str]:
    """List those of the sorted names that are beyond what each host that still writes may keep."""
    hosts = {"-".join(name.split("-")[2:3]) for name in names[-MAX_FILES:]}
    return names[: -MAX_FILES * max(1, len(hosts))]


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
