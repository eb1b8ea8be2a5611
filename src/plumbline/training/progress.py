"""Shows how training goes: a bar to a person at a terminal, one line an epoch to a log."""

import sys
from types import TracebackType
from typing import Protocol, Self

from plumbline.training import ranks


class Progress(Protocol):
    """Told of every step and epoch."""

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

    def step(self, batch: int, num_batches: int) -> None:
        """One batch of the running epoch is done."""

    def epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        """One epoch is done; `row` holds its figures."""


def progress(candidate: str, max_epochs: int) -> Progress:
    """A bar where standard output is a terminal, else lines; silence in all processes but the first."""
    if not ranks.is_main():
        return _Silent()
    return _Bar(candidate, max_epochs) if sys.stdout.isatty() else _Lines(candidate, max_epochs)


class _Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def step(self, batch: int, num_batches: int) -> None:
        pass

    def epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        pass


class _Lines(_Silent):
    def __init__(self, candidate: str, max_epochs: int) -> None:
        self.candidate, self.max_epochs = candidate, max_epochs

    def epoch(self, row: dict[str, float], samples_per_second: float) -> None:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in row.items() if name != "epoch")
        self._print(
            f"{self.candidate}: epoch {row['epoch']:.0f}/{self.max_epochs}  {figures}  {samples_per_second:,.0f}/s"
        )

    def _print(self, line: str) -> None:
        print(line, flush=True)  # noqa: T201 (the stage's human output)


class _Bar(_Lines):
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

    def step(self, batch: int, num_batches: int) -> None:
        self.bar.update(self.task, completed=batch, total=num_batches)

    def _print(self, line: str) -> None:
        self.bar.console.print(line, soft_wrap=True, highlight=False)
