"""Where a fault is injected, what came of it, and the file that keeps what came of all."""

import json
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

MAX_SHOWN = 6


@dataclass(frozen=True)
class Point:
    """The `number`-th call of one kind in a stage, or the page at which its disk is full."""

    task: str
    stage: str
    kind: str
    number: int
    action: str

    def __str__(self) -> str:
        return f"{self.task}, {self.stage}: {self.action} at {self.kind} {self.number}"


@dataclass
class Outcome:
    """What one fault led to."""

    point: Point
    commit: str = ""  # of the code that was tried
    is_met: bool = True  # whether the stage came to that call at all
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
                yield f"{what}: {' '.join('; '.join(found[:MAX_SHOWN]).split())}"


class Results:
    """What came of each point. A file keeps it as lines of JSON, each written as its point ends.

    A run that was interrupted goes on where it was, and runs of several seeds make one table. Of a
    point that was tried twice the last outcome counts.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.outcomes: dict[Point, Outcome] = {}
        self._path = path
        self._lock = threading.Lock()
        if path is not None and path.exists():
            self._load(path.read_text(encoding="utf-8"))

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome: the file has it when this returns."""
        with self._lock:
            self.outcomes[outcome.point] = outcome
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    # The newline comes first: a line that a kill cut off spoils no other.
                    file.write(f"\n{json.dumps(asdict(outcome))}")

    def _load(self, text: str) -> None:
        for line in text.splitlines():
            try:
                fields = json.loads(line)
            except ValueError:  # empty, or cut off
                continue
            point = Point(**fields.pop("point"))
            self.outcomes[point] = Outcome(point, **fields)


def draw_points(points: Sequence[Point], num_points: int, seed: int) -> list[Point]:
    """Draw points without repetition, in turn from all stages, kinds and actions."""
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
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
