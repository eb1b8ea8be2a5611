"""A sampled log of requests and answers in Parquet, which `plumbline drift` reads."""

import importlib
import logging
import pickle
import secrets
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from plumbline.contract.errors import ParamsError
from plumbline.serving import metrics
from plumbline.serving.exchange import DICE, Exchange, Row
from plumbline.serving.loaded_model import Answer
from plumbline.serving.log_file import delete_outdated, encode_rows, name_file
from plumbline.serving.settings import Settings
from plumbline.sources.request_folder import RequestFolder

FLUSH_S = 60.0
FLUSH_ROWS = 1000
FLUSH_BYTES = 8 << 20
MAX_BYTES = 64 << 20  # if more wait, the disk is too slow, and rows are left out
SWEEP_S = 3600.0  # between two looks for files that are outdated
# What a redaction has to leave: it names the row to which an outcome belongs.
NEEDED = ("at", "request_id", "row", "model", "version", "bundle", "side", "shown", "draw")
Redact = Callable[[Row], Row | None]
log = logging.getLogger(__name__)


class RequestLog:
    """Collects exchanges in memory and writes their rows to a new file now and then, in a thread.

    Each file says the how many-th of this writer it is, and how many rows were lost before it.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder = RequestFolder(settings.log_folder) if settings.log_folder else None
        self._limits = settings.limits
        self._redact = load_redaction(settings.redact)
        self._waiting: deque[tuple[Exchange, tuple[Answer, ...], int]] = deque()  # and their bytes
        self._num_rows = 0
        self._num_bytes = 0
        self._lost: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by reason and side
        self._writer = secrets.token_hex(8)
        self._num_files = 0
        self._next_sweep = 0.0
        self._is_cut = False  # whether a file went for the size of the folder alone
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Write what is added while the block runs; at its end all rows are written."""
        if self._folder is None:
            yield
            return
        thread = threading.Thread(target=self._run, args=[self._folder], name="request log")
        thread.start()
        try:
            yield
        finally:
            self._closed = True
            self._wake.set()
            thread.join()

    def add(self, exchange: Exchange, shown: Answer, other: Answer | None = None) -> None:
        """Add an exchange if it is in the sample and there is room.

        `other` is what the other side answered, if it was asked. Such pairs, and what is assigned
        to a side while a canary is on trial, are all in the sample.
        """
        if self._folder is None:
            return
        answers = (shown, other) if other else (shown,)
        is_tried = exchange.assigned or other
        if not is_tried and DICE.random() >= self._limits.log_share:
            return
        num_rows = exchange.request.num_rows
        if self._num_bytes > MAX_BYTES:
            self._count_lost("full", [answer.variant for answer in answers] * num_rows)
            return
        content = [exchange.request.columns, *(answer.columns for answer in answers)]
        num_bytes = sum(len(pickle.dumps(columns)) for columns in content)
        with self._lock:
            self._waiting.append((exchange, answers, num_bytes))
            self._num_rows += len(answers) * num_rows
            self._num_bytes += num_bytes
        if self._are_due:
            self._wake.set()

    def _run(self, folder: RequestFolder) -> None:
        while not (self._closed and not self._waiting):
            self._wake.wait(FLUSH_S)
            self._wake.clear()
            rows = self._take_rows()
            if rows:
                self._write_file(rows, folder)
            if self._closed or self._are_due:
                self._wake.set()
        if self._lost:
            self._write_file([], folder)

    @property
    def _are_due(self) -> bool:
        """Whether there are enough rows for a file."""
        return self._num_rows >= FLUSH_ROWS or self._num_bytes >= FLUSH_BYTES

    def _take_rows(self) -> list[Row]:
        """Remove the oldest exchanges, for one file, and return their rows."""
        oldest: list[tuple[Exchange, tuple[Answer, ...]]] = []
        num_bytes = 0
        with self._lock:
            while self._waiting and num_bytes < FLUSH_BYTES:
                exchange, answers, size = self._waiting.popleft()
                oldest.append((exchange, answers))
                self._num_rows -= len(answers) * exchange.request.num_rows
                num_bytes += size
            self._num_bytes -= num_bytes
        taken = [alike for exchange, answers in oldest for alike in exchange.make_rows(answers)]
        if self._redact:
            taken = self._redact_rows(taken, self._redact)
        return [row for alike in taken for row in alike]

    def _redact_rows(self, groups: list[list[Row]], redact: Redact) -> list[list[Row]]:
        """Return what `redact` keeps; with a row its other half goes, so that pairs stay pairs."""
        kept, errors, lost = [], [], []
        for alike in groups:
            try:
                redacted = [_redact_row(row, redact) for row in alike]
                kept.append([row for row in redacted if row is not None and None not in redacted])
            except ParamsError as error:
                errors.append(str(error))
                lost += alike
            except Exception as error:  # noqa: BLE001  the user's own code; its text may quote the row
                errors.append(type(error).__name__)
                lost += alike
        if errors:
            self._count_lost("redact", [row["side"] for row in lost])
            log.error("--redact failed (%s): %d rows are not logged", errors[0], len(lost))
        return kept

    def _write_file(self, rows: list[Row], folder: RequestFolder) -> None:
        """Write a file; rows are lost if the disk is full, or a column has values of two types."""
        with self._lock:
            lost, self._lost = self._lost, defaultdict(Counter)
        about = {"writer": self._writer, "sequence": self._num_files, "lost": lost}
        try:
            folder.write(name_file, encode_rows(rows, about))
        except Exception as error:  # noqa: BLE001  its text may quote a row
            with self._lock:
                for reason, sides in lost.items():
                    self._lost[reason].update(sides)
            self._count_lost("write", [str(row.get("side")) for row in rows])
            reason = getattr(error, "strerror", None) or type(error).__name__
            log.warning(
                "the request log cannot be written (%s): %d rows are lost", reason, len(rows)
            )
            return
        self._num_files += 1
        metrics.LOGGED_ROWS.inc(len(rows))
        if folder.local and time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + SWEEP_S
            self._sweep(folder)

    def _sweep(self, folder: RequestFolder) -> None:
        """Delete outdated files; what cannot be deleted is logged, and tried again later."""
        days, size = self._limits.log_days, self._limits.log_mb
        try:
            is_cut = delete_outdated(folder, days, size, datetime.now(UTC))
        except OSError as error:
            log.warning(
                "old files of the request log cannot be deleted (%s); delete them by hand",
                error.strerror,
            )
            return
        if is_cut and not self._is_cut:
            reason = f"is kept for less than {days:g} days: --limit log_mb is {size:g}"
            log.warning("the request log %s; raise it, or lower log_share", reason)
        self._is_cut = self._is_cut or is_cut

    def _count_lost(self, reason: str, sides: Iterable[str]) -> None:
        """Count rows that the log will lack, each by its side."""
        counts = Counter(sides)
        metrics.LOST_LOG_ROWS.labels(reason).inc(counts.total())
        with self._lock:
            self._lost[reason].update(counts)


def _redact_row(row: Row, redact: Redact) -> Row | None:
    """Return what `redact` keeps of a row; ParamsError where that lacks what names the row."""
    redacted = redact(dict(row))
    if redacted is None:
        return None
    kept = dict(redacted)
    missing = [name for name in NEEDED if kept.get(name) is None]
    if missing:
        raise ParamsError(
            f"it drops {', '.join(missing)}, without which no outcome finds the row; inputs and "
            "outputs may go"
        )
    return kept


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
