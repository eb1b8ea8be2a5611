"""What every reader gives and is given, so that a row from CSV, SQL or a grammar meets the same policies."""

import datetime
import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plumbline.contract.errors import DataError

NUM_PLACES = 5  # how many places of one kind are kept to be shown
NUM_SPELLINGS = 20
NUM_NAMES = 30
LONGEST_NAME = 60
ALSO_CALLED = {
    "data.columns.text": (
        "sentence",
        "utterance",
        "query",
        "message",
        "content",
        "body",
        "review",
        "question",
        "title",
        "description",
    ),
    "data.columns.label": (
        "category",
        "class",
        "intent",
        "target",
        "topic",
        "tag",
        "y",
        "sentiment",
        "label_name",
    ),
}


class Row(NamedTuple):
    """One record: where it stands (a line or row number), its wanted values in order, and what was done to read it."""

    number: int
    values: Sequence[str | None]
    decoded: bool = False  # bytes were replaced
    noisy: bool | None = None  # generated data alone: the label is not the true one


@dataclass
class Count:
    """How many rows met one policy, the first of them, and how the values were spelled."""

    num_rows: int = 0
    first: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)

    def add(self, place: str, found: str | None = None) -> None:
        """Count the row at `place`."""
        self.num_rows += 1
        if len(self.first) < NUM_PLACES:
            self.first.append(place)
        if found is not None and (found in self.found or len(self.found) < NUM_SPELLINGS):
            self.found[found] += 1

    def facts(self) -> dict[str, Any]:
        """As it stands in data/source.json."""
        facts: dict[str, Any] = {"rows": self.num_rows, "first": self.first}
        return facts | ({"found": dict(self.found)} if self.found else {})


@dataclass(frozen=True)
class Reading:
    """What a reader needs to know: the columns wanted, in order, whether to refuse bad bytes, and where to report."""

    wanted: tuple[str, ...]
    keys: dict[str, str]  # column -> the key in params.yaml that names it
    refuse_encoding: bool
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """One piece of the source (a file, a query, a given split) with its rows, which can be read more than once."""

    name: str
    split: str | None  # None: to be divided
    rows: Callable[[Reading], Iterator[Row]]
    facts: dict[str, Any]


def positions(name: str, found: Sequence[str], reading: Reading) -> list[int]:
    """The index of each wanted column in `found`; a DataError says which is missing and what could be meant."""
    missing = [column for column in reading.wanted if column not in found]
    if missing:
        raise DataError("\n".join(_missing(name, missing, found, reading)))
    for column in reading.wanted:
        if found.count(column) > 1:
            raise DataError(
                f"{name}: {found.count(column)} columns are called {column!r}; rename all but one"
            )
    return [found.index(column) for column in reading.wanted]


def as_text(value: Any, place: str) -> str | None:
    """A typed value as text: whole numbers without a point, dates as ISO 8601; DataError for nested values."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple | set | bytes):
        raise DataError(
            f"{place}: expected text or a number, found a {type(value).__name__} ({str(value)[:40]})"
        )
    return str(value)


def _missing(
    name: str, missing: list[str], found: Sequence[str], reading: Reading
) -> Iterator[str]:
    shown = [
        repr(column if len(column) <= LONGEST_NAME else column[:LONGEST_NAME] + "...")
        for column in found
    ]
    more = f" and {len(shown) - NUM_NAMES} more" if len(shown) > NUM_NAMES else ""
    yield f"{name}: no column {' or '.join(map(repr, missing))}; found {', '.join(shown[:NUM_NAMES]) or 'none'}{more}"
    if not set(found) & set(reading.wanted):
        yield "  if that is the first row of the data, the file has no header: put the names of its columns on top"
    free = [column for column in found if column not in reading.wanted]
    for column in missing:
        key = reading.keys[column]
        if meant := _meant(column, key, free):
            yield f"  is it {meant!r}? then set {key}: {meant}"
        elif key == "data.columns.metadata":
            yield f"  leave {column!r} out of {key} (and of evaluation.slices) if this source has none"
        else:
            yield f"  set {key} to the column that holds it"


def _meant(column: str, key: str, free: list[str]) -> str | None:
    close = difflib.get_close_matches(column, free, n=1, cutoff=0.6)
    synonyms = [other for other in free if other.strip().casefold() in ALSO_CALLED.get(key, ())]
    return next(iter(close + synonyms), None)
