"""Which split a row belongs to: as given, or so that no row ever changes sides as data grows."""

import bisect
import datetime
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.params import Split

Assign = Callable[
    [str, str | None, str], str
]  # (digest of the text, value of split.column, place) -> split


def assigner(
    split: Split, given: Iterable[str | None], days: Callable[[], Iterable[tuple[str | None, str]]]
) -> Assign:
    """How rows of a part without a split, or of a `train` that lacks its siblings, are divided.

    `given` holds the split of each part; what is given is left alone, what is missing is carved out. `days` reads the
    column that `by: time` looks at, with places, and is called for that alone.
    """
    named = set(given)
    validation = 0.0 if "validation" in named else split.validation
    test = 0.0 if "test" in named else split.test
    if split.by == "time" and validation + test > 0:
        return _by_time(validation, test, days())
    if split.by == "group":
        return lambda digest, group, place: _side(
            _point(_hash(group, split, place)), validation, test
        )
    return lambda digest, group, place: _side(_point(digest), validation, test)


def absent(classes: Mapping[str, Mapping[str, int]], splits: Iterable[str]) -> list[str]:
    """Plain sentences on classes that a split lacks: hashing keeps shares only where a class has rows enough."""
    notices = []
    for split in splits:
        lacking = sorted(label for label, counts in classes.items() if not counts.get(split))
        if lacking:
            shown = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
            notices.append(
                f"classes without a row in {split}: {len(lacking)} of {len(classes)} ({shown})"
            )
    return notices


def _point(digest: str) -> float:
    """A number in [0, 1) that depends on the text, or group, alone."""
    return int(digest[:13], 16) / 16**13


def _side(point: float, validation: float, test: float) -> str:
    return "test" if point < test else "validation" if point < test + validation else "train"


def _hash(group: str | None, split: Split, place: str) -> str:
    if not group:
        raise DataError(
            f"{place}: {split.column} is empty, and data.split divides by it; fill it in or split by text"
        )
    return hashlib.sha256(group.encode()).hexdigest()


def _by_time(validation: float, test: float, days: Iterable[tuple[str | None, str]]) -> Assign:
    """The latest rows are the test split, those before them validation; cuts lie between two days."""
    counts = Counter(_day(value, place) for value, place in days)
    latest = sorted(counts, reverse=True)
    num_from = dict(zip(latest, itertools.accumulate(counts[day] for day in latest), strict=True))
    bounds = [
        _cut(num_from, (test + validation) * counts.total()),
        _cut(num_from, test * counts.total()),
    ]
    return lambda digest, value, place: SPLITS[bisect.bisect_right(bounds, _day(value, place))]


def _cut(num_from: dict[str, int], wanted: float) -> str:
    """The day from which on there are about `wanted` rows; one after all days for none."""
    return (
        min(num_from, key=lambda day: abs(num_from[day] - wanted))
        if wanted and num_from
        else "9999-99-99"
    )


def _day(value: str | None, place: str) -> str:
    try:
        return datetime.datetime.fromisoformat((value or "").strip()).date().isoformat()
    except ValueError:
        raise DataError(
            f"{place}: {value!r} is not an ISO 8601 date, and data.split divides by it; mend it"
        ) from None
