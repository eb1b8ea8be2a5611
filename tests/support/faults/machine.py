"""One fault at a time: the stage under the fault, the pipeline again, and what is then there."""

import re
import subprocess
from pathlib import Path

from tests.support.faults.observation import (
    REGISTRY,
    compare,
    list_registry_remains,
    list_remains,
    read_results,
)
from tests.support.faults.pipeline import DECISIONS, Pipeline
from tests.support.faults.points import Outcome, Point
from tests.support.faults.site import Site
from tests.support.faults.undisturbed import PAGE, prepare

TO_THE_END = 10  # of so many points of a stage one runs all that follows it, the others only it
SETTLED = ("the champion is 2, not 1", "the champion is 1, not 2")
OTHERS = ("  ", "run: ")  # what follows a line, and what `plumbline run` says of the stage's
TRACKING = re.compile(r"tracking stopped|tracking: ")  # a line beside that of the stage
ACTIONS = ("kill", "EIO", "ENOSPC")  # at a call
FULL = "full"  # a disk, when so many pages of it were written
IS_FULL = re.compile(r"ENOSPC|[Nn]o space left|disk is full")


class Machine:
    """Tries faults on a pipeline, and on decisions about its model."""

    def __init__(self, folder: Path, pipeline: Pipeline, *, has_decisions: bool) -> None:
        self.pipeline = pipeline
        self.last_stage = list(pipeline.stages)[-1]
        self.site = Site(folder)
        self.undisturbed = prepare(self.site, pipeline, has_decisions=has_decisions)

    def list_points(self) -> list[Point]:
        """List every point of every stage and decision."""
        return [
            Point(self.pipeline.task, stage, kind, number, action)
            for stage, counts in self.undisturbed.counts.items()
            for kind, count in counts.items()
            for number in range(1, count + 1)
            for action in self._list_actions(kind)
        ]

    def try_point(self, point: Point) -> Outcome:
        """Run the stage under the fault, then what a user would run, and compare."""
        outcome = Outcome(point)
        self.site.restore(f"before {point.stage}")
        try:
            (self._fill_disk if point.action == FULL else self._inject)(outcome)
            if outcome.is_met:
                self._heal(outcome)
        except subprocess.TimeoutExpired as error:
            outcome.differences.append(str(error))
        return outcome

    def _list_actions(self, kind: str) -> tuple[str, ...]:
        if kind == PAGE:
            return (FULL,) if self.site.disk.can_be_full else ()
        return ACTIONS

    def _inject(self, outcome: Outcome) -> None:
        """Run the stage, whose one call fails or ends it."""
        point = outcome.point
        fault = f"{point.kind}|{point.number}|{point.action}"
        done = self.site.run(*self.pipeline.get_command(point.stage), fault=fault)
        outcome.is_met = self.site.token.stat().st_size > 0
        outcome.noise = _list_noise(done.stderr)
        if point.action != "kill" and done.returncode not in (0, 1):
            outcome.noise.append(f"exit {done.returncode}")

    def _fill_disk(self, outcome: Outcome) -> None:
        """Run the pipeline from this stage on, or the decision, on a disk with too little space."""
        point = outcome.point
        is_decision = point.stage in DECISIONS
        command = self.pipeline.get_command(point.stage) if is_decision else ["plumbline", "run"]
        self.site.disk.fill(point.number)
        done = self.site.run(*command)
        self.site.disk.free()
        outcome.is_met = done.returncode != 0
        outcome.noise = _list_noise(done.stderr)
        if done.returncode != 1:
            outcome.noise.append(f"exit {done.returncode}")
        if not IS_FULL.search(done.stderr):
            outcome.noise.append(f"not said that the disk is full: {done.stderr}")

    def _heal(self, outcome: Outcome) -> None:
        if outcome.point.stage in DECISIONS:
            self._settle_decision(outcome)
        else:
            self._heal_pipeline(outcome)
        examined = self.site.run("plumbline", "doctor", "--full")
        if examined.returncode and outcome.point.stage not in DECISIONS:
            self.site.run("plumbline", "run")  # its end closes what a failed stage left open
            examined = self.site.run("plumbline", "doctor", "--full")
        if examined.returncode:
            faults = [line for line in examined.stdout.splitlines() if "->" in line]
            outcome.differences.append(f"doctor: {' '.join(faults) or examined.stderr[-300:]}")

    def _heal_pipeline(self, outcome: Outcome) -> None:
        stage = self._find_last_stage(outcome.point)
        healed = self.site.run("plumbline", "run", self.pipeline.stages[stage])
        if healed.returncode:
            outcome.differences.append(f"run again: exit {healed.returncode}: {healed.stderr}")
        results = read_results(self.site.work)
        expected = self.undisturbed
        differences = compare(expected.after[stage], results, expected.times)
        outcome.remains = list_remains(self.site.work, expected.files)
        if stage == self.last_stage:
            outcome.remains += list_registry_remains(self.site.work)
        else:  # MLflow is still at work
            differences = [name for name in differences if name not in REGISTRY]
        outcome.differences += differences

    def _find_last_stage(self, point: Point) -> str:
        """Find the stage up to which the pipeline runs again: what follows has the same inputs."""
        if point.action == FULL or point.number % TO_THE_END == 0:
            return self.last_stage
        return point.stage

    def _settle_decision(self, outcome: Outcome) -> None:
        again = self.site.run(*self.pipeline.get_command(outcome.point.stage))
        if again.returncode and not any(text in again.stderr for text in SETTLED):
            outcome.differences.append(f"again: exit {again.returncode}: {again.stderr}")
        champion = self.site.run("plumbline", "champion", self.pipeline.model).stdout
        expected = {"promote": "version 2", "rollback": "version 1"}[outcome.point.stage]
        if expected not in champion:
            outcome.differences.append(f"champion: {champion}")
        outcome.remains = [str(path) for path in self.site.work.glob(".*.aside")]


def _list_noise(messages: str) -> list[str]:
    """List what a user should not see: a traceback, or more than the line of tracking and one."""
    lines = [line for line in messages.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        return [f"traceback: {lines[-1]}"]
    own = [line for line in lines if not TRACKING.search(line) and not line.startswith(OTHERS)]
    return own if len(own) > 1 else []
