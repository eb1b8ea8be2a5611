"""Shows the progress of training, over all epochs: a bar at a terminal, else a line a minute."""

import sys
import time
from typing import Self

from plumbline.contract.durations import format_duration
from plumbline.process import ranks
from plumbline.training.time_left import TimeLeft

EVERY_S = 60  # seconds between two lines


class Progress:
    """Gets a call at every step and epoch, and says nothing of it."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End, also after an error."""

    def on_step(self, batch: int, num_batches: int) -> None:
        """One batch of the running epoch is done."""

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        """One epoch is done; `row` holds its figures."""


def choose_progress(candidate: str, max_epochs: int, num_epochs_done: int = 0) -> Progress:
    """Return a bar if standard output is a terminal, else lines; only the first process prints."""
    if not ranks.is_main():
        return Progress()
    kind = _ProgressBar if sys.stdout.isatty() else _ProgressLines
    return kind(candidate, TimeLeft(max_epochs, num_epochs_done))


class _ProgressLines(Progress):
    def __init__(self, candidate: str, time_left: TimeLeft) -> None:
        self.candidate = candidate
        self.time_left = time_left
        self.printed = time_left.begin
        self.last = ""  # what is said of the last epoch

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and self.last:
            spent = format_duration(time.monotonic() - self.time_left.begin)
            print(f"{self.candidate}: {self.last}, {spent}", flush=True)  # noqa: T201 (human output)

    def on_step(self, batch: int, num_batches: int) -> None:
        self.time_left.count_step(batch, num_batches)
        self._show()

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        self.time_left.count_epoch()
        figures = "  ".join(f"{name} {value:.4f}" for name, value in row.items() if name != "epoch")
        epoch = f"epoch {row['epoch']:.0f}/{self.time_left.max_epochs}"
        self.last = f"{epoch}  {figures}  {samples_per_second:,.0f}/s"

    def _show(self) -> None:
        now = time.monotonic()
        if now - self.printed < EVERY_S:
            return
        self.printed = now
        spent = format_duration(now - self.time_left.begin)
        share = f"{self.time_left.share:.0%}"
        parts = [self._name_epoch(), f"{share} after {spent}", self._describe_rest()]
        print(", ".join(filter(None, parts)), flush=True)  # noqa: T201 (human output)

    def _name_epoch(self) -> str:
        return f"{self.candidate}: epoch {self.time_left.epoch}/{self.time_left.max_epochs}"

    def _describe_rest(self) -> str:
        left = self.time_left.seconds_left
        return "" if left is None else f"{format_duration(left)} left"


class _ProgressBar(_ProgressLines):
    def __enter__(self) -> Self:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        text = TextColumn("{task.description}", markup=False)
        left = TextColumn("{task.fields[left]}", markup=False)
        columns = text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), left
        self.bar = Bar(*columns, transient=True)
        self.task = self.bar.add_task(self._name_epoch(), total=1.0, left="")
        self.bar.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.bar.stop()
        super().__exit__(kind, error, trace)

    def _show(self) -> None:
        self.bar.update(
            self.task,
            completed=self.time_left.share,
            description=self._name_epoch(),
            left=self._describe_rest(),
        )
