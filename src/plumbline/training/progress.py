"""Shows the progress of training: a bar at a terminal, one line per epoch in a log."""

import sys
from types import TracebackType
from typing import Protocol, Self

from plumbline.contract import ranks


class Progress(Protocol):
    """Gets a call at every step and epoch."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, also after an error."""

    def on_step(self, batch: int, num_batches: int) -> None:
        """One batch of the running epoch is done."""

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        """One epoch is done; `row` holds its figures."""


def choose_progress(candidate: str, max_epochs: int) -> Progress:
    """Return a bar if standard output is a terminal, else lines; only the first process prints."""
    if not ranks.is_main():
        return _NoProgress()
    if sys.stdout.isatty():
        return _ProgressBar(candidate, max_epochs)
    return _ProgressLines(candidate, max_epochs)


class _NoProgress:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def on_step(self, batch: int, num_batches: int) -> None:
        pass

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        pass


class _ProgressLines(_NoProgress):
    def __init__(self, candidate: str, max_epochs: int) -> None:
        self.candidate = candidate
        self.max_epochs = max_epochs

    def on_epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in row.items() if name != "epoch")
        self._print(
            f"{self.candidate}: epoch {row['epoch']:.0f}/{self.max_epochs}  {figures}  "
            f"{samples_per_second:,.0f}/s"
        )

    def _print(self, line: str) -> None:
        print(line, flush=True)  # noqa: T201 (the stage's human output)


class _ProgressBar(_ProgressLines):
    def __enter__(self) -> Self:
        from rich.progress import Progress as Bar

        self.bar = Bar(transient=True)
        self.task = self.bar.add_task(self.candidate)
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def on_step(self, batch: int, num_batches: int) -> None:
        self.bar.update(self.task, completed=batch, total=num_batches)

    def _print(self, line: str) -> None:
        self.bar.console.print(line, soft_wrap=True, highlight=False)
