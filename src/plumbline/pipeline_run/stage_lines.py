"""A line as each stage of DVC begins, and one as it ends: which of how many, and how long."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plumbline.contract.durations import format_duration

if TYPE_CHECKING:
    from dvc.repo import Repo
    from dvc.stage import Stage

    from plumbline.pipeline_run.reproduction import RunRequest

COMMANDS = "dvc.stage.run"  # DVC logs there that it starts the command of a stage


class StageError(Exception):
    """A stage ended with an exit code, and has said why."""

    def __init__(self, stage: str, code: int) -> None:
        super().__init__(f"{stage}: exit code {code}")
        self.stage = stage
        self.code = code  # negative: a signal


@contextmanager
def announce_stages(repo: "Repo", request: "RunRequest") -> Iterator[Callable[..., "Stage | None"]]:
    """Yield the function that DVC is to call for each stage, in place of its own."""
    lines = _StageLines(repo, request)
    logger = logging.getLogger(COMMANDS)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addFilter(lines.see_command)
    try:
        yield lines.reproduce
        lines.print_unchanged()
    finally:
        logger.removeFilter(lines.see_command)
        logger.setLevel(level)


class _StageLines:
    def __init__(self, repo: "Repo", request: "RunRequest") -> None:
        self.repo = repo
        self.request = request
        self.total = 0
        self.number = 0
        self.name = ""
        self.start: float | None = None  # when the command began; None where none did
        self.unchanged: list[str] = []

    def reproduce(self, stage: "Stage", **options: Any) -> "Stage | None":
        """Let DVC bring one stage up to date, and say so; StageError where its command failed."""
        from dvc.repo.reproduce import _reproduce_stage  # what DVC calls where it is given nothing
        from dvc.stage.exceptions import StageCmdFailedError

        self.total = self.total or self._count_stages()
        self.number += 1
        self.name = stage.addressing.replace("@", " ")
        try:
            done: Stage | None = _reproduce_stage(stage, **options)
        except StageCmdFailedError as error:  # whose text ends with the code
            raise StageError(self.name, int(str(error).rpartition(" ")[2])) from error
        start, self.start = self.start, None
        if done is None:
            self.unchanged.append(self.name)
        elif start is None:
            self._print(f"{self.name}: computed before, restored from the cache")
        else:
            seconds = time.monotonic() - start
            self._print(f"{self.name}: done in {format_duration(seconds)}")
        return done

    def see_command(self, record: logging.LogRecord) -> bool:
        """Print the first line of a stage where DVC logs its command; keep it out of the log."""
        if record.levelno == logging.INFO and self.start is None:
            self.start = time.monotonic()
            self._print(f"{self.name} ...")
        return record.levelno > logging.INFO

    def print_unchanged(self) -> None:
        """Name the stages that had nothing to do."""
        if self.unchanged:
            print(f"unchanged: {', '.join(self.unchanged)}", flush=True)  # noqa: T201 (human output)
        self.unchanged.clear()

    def _print(self, line: str) -> None:
        self.print_unchanged()
        print(f"[{self.number}/{self.total}] {line}", flush=True)  # noqa: T201 (human output)

    def _count_stages(self) -> int:
        """Count the stages that DVC will look at, of foreach each one."""
        from dvc.repo import reproduce

        stages = reproduce.collect_stages(self.repo, self.request.targets or ["dvc.yaml"])
        if self.request.single_item:
            return len(stages)
        graph = reproduce.get_active_graph(self.repo.index.graph)
        return len(reproduce.plan_repro(graph, stages))
