"""One fault at a time: the stage under the fault, the pipeline again, and what is then there."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.faults.observation import compare, list_files, list_remains, read_results
from tests.support.faults.site import Site

from plumbline.contract.leftovers import is_held

STAGES = {
    "ingest": "ingest", "validate": "validate", "train nothing": "train@nothing",
    "train closed": "train@closed",
    "train gradient": "train@gradient", "control closed": "control@closed",
    "evaluate": "evaluate", "register": "register",
}  # fmt: skip
# Decisions on a second version, each with the champion that is there before.
DECISIONS = {
    "promote": ("promote", "line", "2", "--expect", "1", "--override", "--reason", "a test"),
    "rollback": ("rollback", "line", "--expect", "2", "--reason", "a test"),
}
SETTLED = ("the champion is 2, not 1", "the champion is 1, not 2")
TRACKING = re.compile(r"tracking stopped|: tracking: ")  # a line beside that of the stage
KINDS = ("rename", "unlink", "fsync", "write")
ACTIONS = ("kill", "EIO", "ENOSPC")
MAX_SHOWN = 6
PREPARED = "prepared.json"  # a folder that has it is used again


@dataclass(frozen=True)
class Point:
    """Where a fault is injected: the `number`-th call of one kind in a stage."""

    stage: str
    kind: str
    number: int
    action: str


@dataclass
class Outcome:
    """What one fault led to."""

    point: Point
    differences: list[str] = field(default_factory=list)  # from the undisturbed run, or not healed
    remains: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)  # what is wrong with the messages

    @property
    def is_healed(self) -> bool:
        return not self.differences

    @property
    def is_clean(self) -> bool:
        return not self.remains

    @property
    def is_named(self) -> bool:
        return not self.noise

    @property
    def is_good(self) -> bool:
        return self.is_healed and self.is_clean and self.is_named

    def describe(self) -> Iterator[str]:
        """List what is wrong."""
        for what in ("differences", "remains", "noise"):
            found = getattr(self, what)
            if found:
                yield f"{what}: {'; '.join(found[:MAX_SHOWN])}"


class Machine:
    """Tries faults on the small pipeline of tests/support/tasks/line, and on its decisions."""

    def __init__(self, folder: Path, *, has_decisions: bool = True) -> None:
        self.site = Site(folder)
        self.token = folder / "token"
        self.counts: dict[str, dict[str, int]] = {}
        self.expected: dict[str, Any] = {}
        self.usual: set[str] = set()  # the files that an undisturbed run leaves
        self.times: set[str] = set()  # the results that differ in each run
        if not (folder / PREPARED).exists():
            self._run_undisturbed()
            if has_decisions:
                self._prepare_decisions()
            self._save_prepared()
        self._load_prepared()

    def list_points(self) -> list[Point]:
        """List every point of every stage and decision."""
        points = []
        for stage, kinds in self.counts.items():
            for kind, count in kinds.items():
                for number in range(1, count + 1):
                    points += [Point(stage, kind, number, action) for action in ACTIONS]
        return points

    def draw_points(self, num_points: int, seed: int) -> list[Point]:
        """Draw points without repetition, in turn from all stages, kinds and actions."""
        groups: dict[tuple[str, str, str], list[Point]] = {}
        for point in self.list_points():
            groups.setdefault((point.stage, point.kind, point.action), []).append(point)
        draw = random.Random(seed)
        queues = list(groups.values())
        for queue in queues:
            draw.shuffle(queue)
        drawn: list[Point] = []
        while len(drawn) < num_points and any(queues):
            draw.shuffle(queues)
            for queue in queues:
                drawn += [queue.pop()] if queue else []
        return drawn[:num_points]

    def try_point(self, point: Point) -> Outcome:
        """Run the stage under the fault, then what a user would run, and compare."""
        outcome = Outcome(point)
        self.site.restore(f"before {point.stage}")
        self.token.unlink(missing_ok=True)
        fault = f"{self.site.work}|{self.token}|{point.kind}|{point.number}|{point.action}"
        done = self.site.run(*_list_command(point.stage), fault=fault)
        outcome.noise = _list_noise(done.stderr)
        if point.action != "kill" and done.returncode not in (0, 1):
            outcome.noise.append(f"exit {done.returncode}")
        if point.stage in DECISIONS:
            self._settle_decision(outcome)
        else:
            self._heal_pipeline(outcome)
        examined = self.site.run("plumbline", "fsck")
        if examined.returncode:
            faults = [line for line in examined.stdout.splitlines() if "->" in line]
            outcome.differences.append(f"fsck: {' '.join(faults) or examined.stderr[-300:]}")
        return outcome

    def _heal_pipeline(self, outcome: Outcome) -> None:
        left = {path for path in self.site.temporary.iterdir() if not is_held(path)}
        healed = self.site.run("plumbline", "run")
        if healed.returncode:
            outcome.differences.append(f"run again: exit {healed.returncode}: {healed.stderr}")
        self.site.wait_until_idle()
        results = read_results(self.site.work)
        outcome.differences += compare(self.expected, results, self.times)
        outcome.remains = list_remains(self.site.work, self.usual)
        outcome.remains += [path.name for path in left & set(self.site.temporary.iterdir())]

    def _settle_decision(self, outcome: Outcome) -> None:
        again = self.site.run(*_list_command(outcome.point.stage))
        if again.returncode and not any(text in again.stderr for text in SETTLED):
            outcome.differences.append(f"again: exit {again.returncode}: {again.stderr}")
        champion = self.site.run("plumbline", "champion", "line").stdout
        expected = {"promote": "version 2", "rollback": "version 1"}[outcome.point.stage]
        if expected not in champion:
            outcome.differences.append(f"champion: {champion}")
        outcome.remains = [str(path) for path in self.site.work.glob(".*.aside")]

    def _run_undisturbed(self) -> None:
        """Run all stages once to save the state before each, and once more to find the times."""
        for stage, name in STAGES.items():
            self.site.end_processes()
            self.site.save(f"before {stage}")
            self._repeat("dvc", "repro", "--quiet", "--single-item", name)
        self.site.wait_until_idle()
        self.site.end_processes()
        self.expected = read_results(self.site.work)
        self.usual = list_files(self.site.work)
        self.site.save("done")
        self.site.restore("before ingest")
        self._repeat("plumbline", "run")
        self.site.wait_until_idle()
        self.times = set(compare(self.expected, read_results(self.site.work), set()))
        self.usual |= list_files(self.site.work)
        for stage in STAGES:
            self.counts[stage] = self._count_calls(stage)

    def _prepare_decisions(self) -> None:
        """Register a second version, on other data, and save the state before each decision."""
        self.site.restore("done")
        self.site.checkout.replace("params.yaml", "seed: 3", "seed: 4")
        self._repeat("plumbline", "run")
        self.site.wait_until_idle()
        for decision in DECISIONS:
            self.site.end_processes()
            self.site.save(f"before {decision}")
            self.counts[decision] = self._count_calls(decision)

    def _save_prepared(self) -> None:
        facts = {
            "counts": self.counts,
            "expected": self.expected,
            "usual": sorted(self.usual),
            "times": sorted(self.times),
        }
        (self.site.folder / PREPARED).write_text(json.dumps(facts), encoding="utf-8")

    def _load_prepared(self) -> None:
        facts = json.loads((self.site.folder / PREPARED).read_text(encoding="utf-8"))
        self.counts, self.expected = facts["counts"], facts["expected"]
        self.usual, self.times = set(facts["usual"]), set(facts["times"])

    def _count_calls(self, stage: str) -> dict[str, int]:
        self.site.restore(f"before {stage}")
        self.token.unlink(missing_ok=True)
        fault = f"{self.site.work}|{self.token}|any|0|count"
        self._repeat(*_list_command(stage), fault=fault)
        lines = self.token.read_text(encoding="utf-8", errors="replace").splitlines()
        return {kind: sum(line.startswith(f"{kind} ") for line in lines) for kind in KINDS}

    def _repeat(self, *command: str, fault: str = "") -> None:
        done = self.site.run(*command, fault=fault)
        if done.returncode:
            raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")


def _list_command(stage: str) -> list[str]:
    if stage in DECISIONS:
        return ["plumbline", *DECISIONS[stage]]
    script, *candidate = stage.split()
    return ["python", "-P", f"pipelines/{script}.py", *candidate]


def _list_noise(messages: str) -> list[str]:
    """List what a user should not see: a traceback, or more than the line of tracking and one."""
    lines = [line for line in messages.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        return [f"traceback: {lines[-1]}"]
    own = [line for line in lines if not TRACKING.search(line) and not line.startswith("  ")]
    return own if len(own) > 1 else []
