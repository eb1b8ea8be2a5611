"""What a stage does now, so that a person who watches it is not left alone for long.

At a terminal a bar moves below what is said; elsewhere a step that lasts is said again now and
then. The same functions run in other programs, which say nothing of it.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from plumbline.contract.durations import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress

QUIET_S = 15  # seconds of a step, after which it is said again where no bar moves
EVERY_S = 60  # seconds between two such lines after the first
_display: "_Display | None" = None


def announce(step: str) -> None:
    """Say what begins now, where a stage shows it."""
    if _display is not None:
        _display.begin(step)


def show_share(detail: str, share: float) -> None:
    """Say how far the step is: in words, and as the share that is done."""
    if _display is not None:
        _display.update(detail, share)


@contextmanager
def show_steps(stage: str, *, on_stderr: bool = False) -> Iterator[None]:
    """Show in the block what is announced, after the name of the stage, and that it lasts."""
    global _display
    _display = _Display(stage, on_stderr=on_stderr)
    try:
        yield
    finally:
        _display.close()
        _display = None


class _Display:
    def __init__(self, stage: str, *, on_stderr: bool) -> None:
        self._stage = stage
        self._on_stderr = on_stderr
        self._due = float("inf")
        self._is_over = threading.Event()
        stream = sys.stderr if on_stderr else sys.stdout
        self._bar = _start_bar(on_stderr=on_stderr) if stream.isatty() else None
        if self._bar is None:
            threading.Thread(target=self._repeat, daemon=True).start()

    def begin(self, step: str) -> None:
        self._line, self._detail = f"{self._stage}: {step}", ""
        self._first: tuple[float, float] | None = None  # time and share of the first update
        self._begin = time.monotonic()
        self._due = self._begin + QUIET_S
        self._print(self._line)
        if self._bar is not None:
            self._bar.remove_task(self._bar.task_ids[0])
            self._bar.add_task("", total=None)

    def update(self, detail: str, share: float) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now, share
        begin, share_then = self._first
        if share > share_then:  # the rest may take as long as what was done since the first time
            rest = (now - begin) * (1 - share) / (share - share_then)
            detail += f", {format_duration(rest)} left"
        self._detail = f": {detail}, {share:.0%}"
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, total=1.0, completed=share, description=detail)

    def close(self) -> None:
        self._is_over.set()
        if self._bar is not None:
            self._bar.stop()

    def _repeat(self) -> None:
        while not self._is_over.wait(1):
            now = time.monotonic()
            if now >= self._due:
                self._due = now + EVERY_S
                spent = format_duration(now - self._begin)
                self._print(f"{self._line}, {spent} so far{self._detail}")

    def _print(self, line: str) -> None:
        stream = sys.stderr if self._on_stderr else sys.stdout  # those that a bar put in place
        print(line, file=stream, flush=True)


def _start_bar(*, on_stderr: bool) -> "Progress":
    """Show a bar below all other lines of the terminal; it disappears at its end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

    columns = BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), "{task.description}"
    bar = Progress(
        *columns,
        console=Console(soft_wrap=True, stderr=on_stderr),
        transient=True,
        refresh_per_second=2,
        redirect_stdout=sys.stdout.isatty(),  # what goes to a file stays there
        redirect_stderr=sys.stderr.isatty(),
    )
    bar.add_task("", total=None)
    bar.start()
    return bar
