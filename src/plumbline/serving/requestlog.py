"""A sampled log of requests and answers, in Parquet, from which drift is told."""

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
from plumbline.serving.fleet import Answer
from plumbline.serving.inputs import Asked
from plumbline.serving.settings import Settings

FLUSH_ROWS, FLUSH_S = 1000, 60.0
MAX_WAITING = 20_000  # rows; beyond that the disk is too slow, and rows are left out
MAX_FILES = 1000  # the oldest go
Redact = Callable[[dict[str, Any]], dict[str, Any] | None]
log = logging.getLogger(__name__)


class RequestLog:
    """Rows in memory until there are enough of them, then one file more in the folder."""

    def __init__(self, folder: Path | None, share: float, redact: Redact | None) -> None:
        self._folder, self._share, self._redact = folder, share, redact
        self._rows: list[dict[str, Any]] = []
        self._wake, self._closed = threading.Event(), False
        self._count = 0

    @classmethod
    @contextmanager
    def opened(cls, settings: Settings) -> Iterator["RequestLog"]:
        """A log that is written beside the requests while the block runs, and whole at its end."""
        found = cls(settings.log, settings.log_share, redaction(settings.redact))
        if settings.log is None:
            yield found
            return
        settings.log.mkdir(parents=True, exist_ok=True)
        thread = threading.Thread(target=found._work, name="request log")
        thread.start()
        try:
            yield found
        finally:
            found._closed = True
            found._wake.set()
            thread.join()

    def add(self, asked: Asked, answer: Answer) -> None:
        """Remember a request, if the dice say so and there is room."""
        if self._folder is None or random.random() >= self._share or len(self._rows) > MAX_WAITING:  # noqa: S311
            return
        shared = {
            "at": datetime.now(UTC),
            "model": answer.copy.name,
            "version": answer.copy.version,
            "side": answer.side,
            "ms": round(1000 * answer.seconds, 3),
        }
        for row in range(asked.num_rows):
            given = {f"input.{name}": values[row] for name, values in asked.columns.items()}
            got = {f"output.{name}": values[row] for name, values in answer.columns.items()}
            self._rows.append(shared | given | got)
        if len(self._rows) >= FLUSH_ROWS:
            self._wake.set()

    def _work(self) -> None:
        last = False
        while not last:
            self._wake.wait(FLUSH_S)
            self._wake.clear()
            last = self._closed  # what came before that is written now
            rows, self._rows = self._rows, []
            try:
                self._write(rows)
            except OSError as error:
                log.warning(
                    "the log of requests cannot be written (%s): %d rows are lost",
                    error.strerror,
                    len(rows),
                )

    def _write(self, rows: list[dict[str, Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._redact:
            rows = [changed for row in rows if (changed := self._redact(dict(row))) is not None]
        if not rows or self._folder is None:
            return
        rows = [{name: _flat(value) for name, value in row.items()} for row in rows]
        self._count += 1
        path = self._folder / f".{secrets.token_hex(8)}.parquet"
        with layout.written(path) as aside:
            pq.write_table(pa.Table.from_pylist(rows), aside)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")  # of the moment at which it can be seen
        path.rename(self._folder / f"requests-{stamp}-{os.getpid()}-{self._count}.parquet")
        metrics.LOGGED.inc(len(rows))
        for old in sorted(self._folder.glob("requests-*.parquet"))[:-MAX_FILES]:
            old.unlink(missing_ok=True)


def redaction(name: str | None) -> Redact | None:
    """The function MODULE:FUNCTION, which gets a row to be logged and gives back what may be kept, or None."""
    if name is None:
        return None
    module, _, function = name.partition(":")
    try:
        found: Redact = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParamsError(
            f"--redact {name}: {error}; expected MODULE:FUNCTION that can be imported"
        ) from None
    return found


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
