"""What becomes of a row that cannot be used as it is: dropped, mended or refused by a policy, and counted."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.normalisation import digest
from plumbline.tasks.text_classification.data.rows import Count, Part, Reading, Row
from plumbline.tasks.text_classification.params import Policies

NULL_LIKE = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "-", "--"}
LONGEST_NULL = max(map(len, NULL_LIKE))


class Example(NamedTuple):
    """A row that can be used; `values` are the wanted columns after text and label, empty where there was nothing."""

    id: str
    text: str
    label: str
    values: tuple[str, ...]
    digest: str
    decoded: bool
    truncated: bool
    noisy: bool | None


@dataclass
class Tally:
    """How many rows were read, and how many met which policy."""

    num_rows: int = 0
    counts: defaultdict[str, Count] = field(default_factory=lambda: defaultdict(Count))

    def facts(self, *names: str) -> dict[str, Any]:
        """The counts of `names`, those at zero too: that a fault was looked for is worth knowing."""
        return {name: self.counts[name].facts() for name in names}


def accepted(part: Part, policies: Policies, reading: Reading, tally: Tally) -> Iterator[Example]:
    """Yield the rows of `part` that can be used; DataError where a policy says refuse."""
    for row in part.rows(reading):
        tally.num_rows += 1
        place = f"{part.name}:{row.number}"
        text, label, *values = row.values
        if _is_null(text) or _is_null(label):
            _drop(text, label, place, policies, tally)
        else:
            yield _example(place, str(text), str(label), values, row, policies.max_chars, tally)


def _example(
    place: str,
    text: str,
    label: str,
    values: Sequence[str | None],
    row: Row,
    max_chars: int,
    tally: Tally,
) -> Example:
    truncated = len(text) > max_chars
    if truncated:
        text = text[:max_chars]
        tally.counts["truncated"].add(place)
    if row.decoded:
        tally.counts["decoded"].add(place)
    if "\0" in text:
        tally.counts["nul_kept"].add(place)
    rest = tuple(value or "" for value in values)
    return Example(place, text, label, rest, digest(text), row.decoded, truncated, row.noisy)


def _is_null(value: str | None) -> bool:
    return (
        not value
        or value.isspace()
        or (len(value) < 3 * LONGEST_NULL and value.strip().casefold() in NULL_LIKE)
    )


def _drop(
    text: str | None, label: str | None, place: str, policies: Policies, tally: Tally
) -> None:
    """Count the row under the first of its columns that is null, or refuse it."""
    name, found = ("null_text", text) if _is_null(text) else ("null_label", label)
    spelled = (found or "").strip()
    if policies.nulls == "refuse":
        shown = f"null-like ({spelled!r})" if spelled else "empty"
        column = name.removeprefix("null_")
        raise DataError(
            f"{place}: the {column} is {shown}; fill it in, or set data.policies.nulls: drop"
        )
    tally.counts[name].add(place, spelled)
