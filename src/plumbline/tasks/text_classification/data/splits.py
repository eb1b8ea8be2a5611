"""Which split a row belongs to: as given, or so that hardly a row changes sides as data grow."""

import bisect
import datetime
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS, Columns
from plumbline.tasks.text_classification.data.normalisation import digest_text
from plumbline.tasks.text_classification.data.stratification import find_moves, place_point
from plumbline.tasks.text_classification.params import Split, TextParams

# (digest of the text, value of split.column, place) -> split
AssignSplit = Callable[[str, str | None, str], str]
AFTER_ALL_DAYS = "9999-99-99"


def plan_splits(
    split: Split,
    given: Iterable[str | None],
    read_days: Callable[[], Iterable[tuple[str | None, str]]],
    classes: Mapping[str, Set[float]] | None = None,
) -> AssignSplit:
    """Return how to divide rows of a part without a split, or of a `train` without its siblings.

    `given` holds the split of each part: what is given is kept, what is missing is taken out of
    train. `read_days` reads the column that `by: time` divides by, with places; it is called for
    that only. `classes` maps each class to the points of its rows, so that a hash leaves no split
    without a class (`stratification`).
    """
    validation, test = _find_shares(split, given)
    if split.by == "time" and validation + test > 0:
        return _divide_by_time(validation, test, read_days())

    moves = find_moves(classes or {}, validation, test)

    def assign(digest: str, group: str | None, place: str) -> str:
        point = find_point(split, digest, group, place)
        return moves.get(point) or place_point(point, test, test + validation)

    return assign


def find_splits(params: TextParams, columns: Columns) -> list[str | None]:
    """Return the split that ingest puts each row with these inputs into.

    None where that depends on other columns, or on other rows.
    """
    split, source, texts = params.data.split, params.data.source, columns["text"]
    given = [None] if isinstance(source, str) else list(source.list_given())
    validation, test = _find_shares(split, given)
    if split.by != "text" and validation + test > 0:
        return [None] * len(texts)
    digests = [digest_text(text[: params.data.policies.max_chars]) for text in texts]
    return [place_point(locate_digest(digest), test, test + validation) for digest in digests]


def _find_shares(split: Split, given: Iterable[str | None]) -> tuple[float, float]:
    """The shares of validation and test that are taken out of train: of none that is given."""
    named = set(given)
    return (
        0.0 if "validation" in named else split.validation,
        0.0 if "test" in named else split.test,
    )


def find_point(split: Split, digest: str, group: str | None, place: str) -> float:
    """Return a number in [0, 1) that depends on nothing but the text, or the group."""
    if split.by == "group":
        if not group:
            raise DataError(
                f"{place}: {split.column} is empty, and data.split divides by it; "
                "fill it in or split by text"
            )
        digest = hashlib.sha256(group.encode()).hexdigest()
    return locate_digest(digest)


def locate_digest(digest: str) -> float:
    """Return the point in [0, 1) of a digest."""
    return int(digest[:13], 16) / 16**13


def _divide_by_time(
    validation: float, test: float, days: Iterable[tuple[str | None, str]]
) -> AssignSplit:
    """The latest rows are the test split, those before them validation; cuts are between days."""
    counts = Counter(_parse_day(value, place) for value, place in days)
    latest_first = sorted(counts, reverse=True)
    num_rows_since = itertools.accumulate(counts[day] for day in latest_first)
    num_since = dict(zip(latest_first, num_rows_since, strict=True))
    total = counts.total()
    first_days = [
        _find_cut(num_since, (test + validation) * total),
        _find_cut(num_since, test * total),
    ]

    def assign(digest: str, value: str | None, place: str) -> str:
        return SPLITS[bisect.bisect_right(first_days, _parse_day(value, place))]

    return assign


def _find_cut(num_since: dict[str, int], wanted: float) -> str:
    """The day since which there are about `wanted` rows; a day after all others for none."""
    if not wanted or not num_since:
        return AFTER_ALL_DAYS
    return min(num_since, key=lambda day: abs(num_since[day] - wanted))


def _parse_day(value: str | None, place: str) -> str:
    try:
        return datetime.datetime.fromisoformat((value or "").strip()).date().isoformat()
    except ValueError:
        raise DataError(
            f"{place}: {value!r} is not an ISO 8601 date, and data.split divides by it; fix it"
        ) from None
