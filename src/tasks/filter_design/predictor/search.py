"""The search: ladders are rounded to parts; every simulation is a call, and none is repeated."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .ladder import (
    LN10,
    TOPOLOGIES,
    UNITS,
    Ladder,
    build_ladder,
    list_stop_points,
    measure_margins,
    simulate,
)
from .rows import Spec, round_digits
from .series import SERIES, find_logs10, find_steps, name_value

# Of a design that is returned: where in a stopband it is looked at, and how dips there are found.
FINE_SHARES = np.sin(np.linspace(0, math.pi / 2, 81)) ** 2
NUM_ZOOMS, NUM_CELL = 6, 17


@dataclass(frozen=True)
class FilterDesign:
    """One ladder of standard parts; `parts` [P] in H and F, `calls` when it was simulated."""

    topology: str
    order: int
    parts: np.ndarray
    margin_db: float
    calls: int
    logs: np.ndarray = field(repr=False, compare=False)
    yield_share: float = -1.0


class Proposals(NamedTuple):
    """Ladders to begin with: logs of parts [D, P] and topologies [D], the most promising first."""

    logs: np.ndarray
    topologies: np.ndarray


class Search:
    """Counts every simulation of one ladder's specification, and never repeats one."""

    def __init__(self, ladder: Ladder, first_call: int = 0) -> None:
        self.ladder = ladder
        self.calls = first_call
        self.steps: list[np.ndarray] = []
        self.topologies: list[int] = []
        self.margins: list[float] = []
        self.numbers: list[int] = []  # of the calls
        self._places: dict[tuple[int, bytes], int] = {}
        self._open: set[int] = set()  # whose neighbours were not tried

    def try_ladders(self, steps: np.ndarray, topologies: np.ndarray, budget: int) -> None:
        """Simulate the ladders that are new, until `calls` reaches `budget`."""
        fresh: list[int] = []
        for place, (row, topology) in enumerate(zip(steps, topologies.tolist(), strict=True)):
            key = (topology, row.tobytes())
            if key not in self._places and self.calls + len(fresh) < budget:
                self._places[key] = len(self._places)
                fresh.append(place)
        if not fresh:
            return
        logs = convert_steps(self.ladder, steps[fresh], topologies[fresh])
        margins = measure_margins(self.ladder, logs, topologies[fresh])
        self._open.update(range(len(self.margins), len(self.margins) + len(fresh)))
        self.steps += list(steps[fresh])
        self.topologies += topologies[fresh].tolist()
        self.margins += [round_digits(margin) for margin in margins]
        self.numbers += range(self.calls + 1, self.calls + len(fresh) + 1)
        self.calls += len(fresh)

    def expand(self, budget: int) -> None:
        """Try the neighbours of the best ladder, then of the next, until the budget is spent."""
        while self.calls < budget and self._open:
            place = max(self._open, key=lambda place: (self.margins[place], -place))
            self._open.remove(place)
            steps = self.steps[place] + build_moves(self.ladder)
            self.try_ladders(steps, np.full(len(steps), self.topologies[place]), budget)

    def has_met(self) -> bool:
        """Whether one of the ladders meets the mask."""
        return max(self.margins, default=-1.0) >= 0

    def list_designs(self, number: int) -> list[FilterDesign]:
        """Return the best designs by margin, up to `number` of each topology."""
        places = sorted(range(len(self.margins)), key=lambda place: -self.margins[place])
        designs: list[FilterDesign] = []
        for topology in range(len(TOPOLOGIES)):
            own = [place for place in places if self.topologies[place] == topology]
            designs += [self._build_design(place) for place in own[:number]]
        return check_stopbands(self.ladder, designs)

    def _build_design(self, place: int) -> FilterDesign:
        ladder, topology = self.ladder, self.topologies[place]
        series = ladder.spec.series
        steps = self.steps[place] + len(SERIES[series]) * ladder.decades[topology]
        units = np.where(ladder.is_inductor[topology], *UNITS)
        names = [name_value(series, step) for step in steps.tolist()]
        parts = [round_digits(name * unit) for name, unit in zip(names, units, strict=True)]
        logs = convert_steps(ladder, self.steps[place][None], np.array([topology]))[0]
        return FilterDesign(
            topology=TOPOLOGIES[topology],
            order=ladder.order,
            parts=np.array(parts),
            margin_db=self.margins[place],
            calls=self.numbers[place],
            logs=logs,
        )


def build_moves(ladder: Ladder) -> np.ndarray:
    """Return the changes by one step [moves, P]: of one part, or of a resonator in tune."""
    single = np.eye(ladder.num_parts, dtype=int)
    moves = [single, -single]
    if ladder.per_branch > 1:
        pairs = single[0::2] - single[1::2]
        moves = [pairs, -pairs, *moves]
    return np.concatenate(moves)


def check_stopbands(ladder: Ladder, designs: list[FilterDesign]) -> list[FilterDesign]:
    """Return the designs with the margins that they have between the points of the search too.

    Parts may resonate in the stopband, where the search looks at a few points only.
    """
    spec = ladder.spec
    logs = np.array([design.logs for design in designs])
    topologies = np.array([TOPOLOGIES.index(design.topology) for design in designs])
    least = np.full(len(designs), np.inf)
    for points in list_stop_points(spec, FINE_SHARES):
        powers = simulate(ladder, logs, topologies, points)
        for place in range(len(designs)):
            one = slice(place, place + 1)
            compute = functools.partial(simulate, ladder, logs[one], topologies[one])
            least[place] = min(least[place], find_least(compute, points, powers[place]))
    margins = 10 * np.log10(least) - spec.min_attenuation_db
    return [
        replace(design, margin_db=min(design.margin_db, round_digits(margin)))
        for design, margin in zip(designs, margins.tolist(), strict=True)
    ]


def find_least(
    compute: Callable[[np.ndarray], np.ndarray], points: np.ndarray, values: np.ndarray
) -> float:
    """Return the least value of a function whose `values` at `points` are known.

    It looks closer and closer around each point that lies below its neighbours.
    """
    least = float(values.min())
    dips = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])) + 1
    for dip in dips.tolist():
        first, last = points[dip - 1], points[dip + 1]
        for _ in range(NUM_ZOOMS):
            cell = np.linspace(first, last, NUM_CELL)
            inside = compute(cell)[0]
            place = int(inside[1:-1].argmin()) + 1
            first, last = cell[place - 1], cell[place + 1]
        least = min(least, float(inside.min()))
    return least


def split_parts(spec: Spec, design: FilterDesign) -> tuple[list[float], list[float]]:
    """Return the inductors in nH and the capacitors in pF, from the source."""
    is_inductor = build_ladder(spec, design.order).is_inductor[TOPOLOGIES.index(design.topology)]
    inductors = [round_digits(part / UNITS[0]) for part in design.parts[is_inductor]]
    capacitors = [round_digits(part / UNITS[1]) for part in design.parts[~is_inductor]]
    return inductors, capacitors


def round_ladders(ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the standard parts [D, P], as numbers of steps, that are nearest to `logs`."""
    series = ladder.spec.series
    targets = logs / LN10 + ladder.mantissas[topologies]
    steps = find_steps(targets, series)
    if ladder.per_branch == 1:
        return steps
    return round_resonators(ladder, targets, steps)


def round_resonators(ladder: Ladder, targets: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Round inductor and capacitor together, so that a resonator keeps its frequency."""
    series = ladder.spec.series
    shifts = np.arange(-3, 4)
    inductors = steps[:, 0::2, None] + shifts
    excess = find_logs10(inductors, series) - targets[:, 0::2, None]
    capacitors = find_steps(targets[:, 1::2, None] - excess, series)
    rest = find_logs10(capacitors, series) - targets[:, 1::2, None]
    detuning, level = (excess + rest) / ladder.width, (excess - rest) / 2
    best = np.argmin(detuning**2 + level**2, axis=2)[:, :, None]
    rounded = steps.copy()
    rounded[:, 0::2] = np.take_along_axis(inductors, best, axis=2)[:, :, 0]
    rounded[:, 1::2] = np.take_along_axis(capacitors, best, axis=2)[:, :, 0]
    return rounded


def convert_steps(ladder: Ladder, steps: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the logs of standard parts [D, P]."""
    logs10 = find_logs10(steps, ladder.spec.series)
    logs: np.ndarray = (logs10 - ladder.mantissas[topologies]) * LN10
    return logs
