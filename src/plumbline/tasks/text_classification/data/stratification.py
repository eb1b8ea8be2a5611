"""Which rows change sides so that every split has rows of every class.

Rows are divided by a hash, which is stable but not even: a class of twenty rows may have none in
validation. Only where a class has less than half of its share in a split, the texts (or groups)
whose hash is closest to the cut are moved; all others stay where their hash puts them.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Set

from plumbline.contract.task import SPLITS

MAX_POINTS = 2000  # of one class; a larger class has its share without help


def find_moves(
    classes: Mapping[str, Set[float]], validation: float, test: float
) -> dict[float, str]:
    """Return the points that change sides, with the split that each goes to.

    `classes` maps each class to the points of its texts or groups; one with fewer points than there
    are splits cannot be helped and stays as it is.
    """
    plan = PointPlan(classes, validation, test)
    for name in plan.list_classes():
        for split in SPLITS:
            plan.fill(name, split)
    return plan.moves


class PointPlan:
    """The split of each point, a text or a group on the line from 0 to 1, and how to change it."""

    def __init__(self, classes: Mapping[str, Set[float]], validation: float, test: float) -> None:
        self.moves: dict[float, str] = {}
        self._test_end = test  # where validation begins
        self._validation_end = test + validation
        self._shares = {"train": 1 - test - validation, "validation": validation, "test": test}
        least = sum(share > 0 for share in self._shares.values())
        self._classes = {
            name: points for name, points in classes.items() if least <= len(points) < MAX_POINTS
        }
        self._names_at: defaultdict[float, list[str]] = defaultdict(list)
        self._counts: dict[str, dict[str, int]] = {}
        for name, points in self._classes.items():
            self._counts[name] = dict.fromkeys(SPLITS, 0)
            for point in points:
                self._names_at[point].append(name)
                self._counts[name][self._find_side(point)] += 1

    def list_classes(self) -> list[str]:
        """List the classes that can be helped, the smallest first."""
        return sorted(self._classes, key=lambda name: (len(self._classes[name]), name))

    def fill(self, name: str, split: str) -> None:
        """Move points until `split` has what it needs of a class, as far as that is possible."""
        for point in self._order_candidates(name, split):
            if self._counts[name][split] >= self._compute_need(name, split):
                return
            side = self._find_side(point)
            if side != split and self._is_spare(point, side, name):
                self._move(point, side, split)

    def _order_candidates(self, name: str, split: str) -> list[float]:
        """Order the points of a class by how far they are from where a split keeps its points.

        That is the middle of validation, and the end of the line that test has, or train.
        """
        middle = (self._test_end + self._validation_end) / 2
        target = {"test": 0.0, "validation": middle, "train": 1.0}[split]
        return sorted(self._classes[name], key=lambda point: (abs(point - target), point))

    def _is_spare(self, point: float, side: str, name: str) -> bool:
        """Whether every class at `point` keeps enough rows on its side without it."""
        for other in self._names_at[point]:
            least = self._compute_need(other, side) if other == name else 1
            if self._counts[other][side] <= least:
                return False
        return True

    def _compute_need(self, name: str, split: str) -> int:
        """Compute the least number of points: half of the share, rounded up."""
        share = self._shares[split]
        return math.ceil(len(self._classes[name]) * share / 2)

    def _move(self, point: float, side: str, split: str) -> None:
        self.moves[point] = split
        for name in self._names_at[point]:
            self._counts[name][side] -= 1
            self._counts[name][split] += 1

    def _find_side(self, point: float) -> str:
        return self.moves.get(point) or place_point(point, self._test_end, self._validation_end)


def place_point(point: float, test_end: float, validation_end: float) -> str:
    """Return the split of a point that is not moved: test comes first, then validation."""
    if point < test_end:
        return "test"
    if point < validation_end:
        return "validation"
    return "train"
