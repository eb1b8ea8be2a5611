"""Shows the progress of training, over all epochs: a bar at a terminal, else a line a minute."""

import sys
import time
from typing import Self

from plumbline.contract.durations import format_duration
from plumbline.process import ranks

EVERY_S = 60  # seconds between two lines


class Progress:
    """Counts every step and epoch; only the first process prints.

    The time that is left is what the share that is done took, as if the rest took as long. Early
    stopping may end a training sooner.
    """

    def __init__(self, candidate: str, max_epochs: int, num_epochs_done: int = 0) -> None:
        self._candidate = candidate
        self._max_epochs = max_epochs
        self._epoch = num_epochs_done + 1
        self._done_before = self._share = num_epochs_done / max_epochs
        self._begin = self._printed = time.monotonic()
        self._last = ""  # what is said of the last epoch
        self._has_bar = ranks.is_main() and sys.stdout.isatty()

    def __enter__(self) -> Self:
        """Begin."""
        if self._has_bar:
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            text = TextColumn("{task.description}", markup=False)
            left = TextColumn("{task.fields[left]}", markup=False)
            columns = text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), left
            self._bar = Bar(*columns, transient=True)
            self._task = self._bar.add_task(self._name_epoch(), total=1.0, left="")
            self._bar.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End, also after an error."""
        if self._has_bar:
            self._bar.stop()
        if error is None and self._last and ranks.is_main():
            spent = format_duration(time.monotonic() - self._begin)
            print(f"{self._candidate}: {self._last}, {spent}", flush=True)  # noqa: T201 (human output)

    def on_step(self, batch: int, num_batches: int) -> None:
        """Count the `batch`-th step of the running epoch, from 1."""
        self._share = (self._epoch - 1 + batch / num_batches) / self._max_epochs
        spent = time.monotonic() - self._begin
        rest = spent * (1 - self._share) / (self._share - self._done_before)
        left = f"{format_duration(rest)} left"
        epoch = self._name_epoch()
        if self._has_bar:
            self._bar.update(self._task, completed=self._share, description=epoch, left=left)
        elif ranks.is_main() and time.monotonic() - self._printed >= EVERY_S:
            self._printed = time.monotonic()
            line = f"{epoch}, {self._share:.0%} after {format_duration(spent)}, {left}"
            print(line, flush=True)  # noqa: T201 (human output)

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        """Go on to the next epoch; `row` has the figures of the one that is done."""
        self._epoch = min(self._epoch + 1, self._max_epochs)
        figures = "  ".join(f"{name} {value:.4f}" for name, value in row.items() if name != "epoch")
        epoch = f"epoch {row['epoch']:.0f}/{self._max_epochs}"
        self._last = f"{epoch}  {figures}  {samples_per_second:,.0f}/s"

    def _name_epoch(self) -> str:
        return f"{self._candidate}: epoch {self._epoch}/{self._max_epochs}"
