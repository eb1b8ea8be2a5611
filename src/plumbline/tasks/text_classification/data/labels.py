"""What a label is called: without blanks around it, one name for equal numbers, words as words.

A word such as `none` or `-` can be a missing value or the name of a class. What repeats is a class:
therefore the whole source is counted before its first row is used.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from plumbline.contract.errors import DataError

NULL_LIKE = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "-", "--"}
LONGEST_NULL = max(map(len, NULL_LIKE))
MIN_ROWS = 8  # of a word that looks like a missing value and is a class
MIN_SHARE = 0.01  # of all rows
MIN_OF_TYPICAL = 0.5  # or: of the mean class
WHOLE_NUMBER = re.compile(r"\+?(-?\d+)(\.0*)?")


@dataclass(frozen=True)
class LabelNames:
    """The name of each label as it is spelled in the source; a label without a name is null."""

    names: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)  # null-like and a class: its rows
    merged: Mapping[str, list[str]] = field(default_factory=dict)  # name -> equal numbers

    def describe(self) -> Iterator[str]:
        """Yield a sentence for each decision that a person may want to take back."""
        for word, num_rows in self.words.items():
            yield (
                f"label {word!r} is taken as a class, since {num_rows:,} rows have it; "
                "if it means that the label is missing, empty these cells"
            )
        for name, spellings in self.merged.items():
            listed = ", ".join(map(repr, spellings))
            yield f"labels {listed} are equal as numbers and are one class, {name!r}"


def is_null_like(value: str | None) -> bool:
    """Whether a cell is empty or holds a word for a missing value."""
    if not value or value.isspace():
        return True
    return len(value) < 3 * LONGEST_NULL and value.strip().casefold() in NULL_LIKE


def name_labels(counts: Mapping[str, int]) -> LabelNames:
    """Decide on the name of each label in `counts`, stripped label -> rows.

    A null-like word is a class where it has MIN_ROWS rows and, beside that, MIN_SHARE of all rows
    or MIN_OF_TYPICAL of the mean class: with many classes or few, a class has as much.
    """
    ordinary = {label: rows for label, rows in counts.items() if not is_null_like(label)}
    total = sum(counts.values())
    needed = min(MIN_SHARE * total, MIN_OF_TYPICAL * sum(ordinary.values()) / len(ordinary or "-"))
    words = {}
    for label, rows in sorted(counts.items()):
        if is_null_like(label) and label and rows >= max(MIN_ROWS, needed):
            words[label] = rows
    names = {label: label for label in (*ordinary, *words)}
    merged = _find_equal_numbers(ordinary)
    for name, spellings in merged.items():
        names |= dict.fromkeys(spellings, name)
    return LabelNames(names, words, merged)


def refuse_vanished(dropped: Mapping[str, int], used: Mapping[str, int]) -> None:
    """Raise DataError where a class would vanish, since words are taken for missing texts.

    `dropped` counts the rows with such a text by their label, `used` those that can be used.
    """
    for label, num_rows in dropped.items():
        if label not in used and num_rows >= MIN_ROWS:
            raise DataError(
                f"label {label!r}: the texts of all its {num_rows:,} rows look like missing "
                "values (none, nil, - and the like), so the class would vanish; write such "
                "texts in other words, or remove the rows"
            )


def _find_equal_numbers(labels: Iterable[str]) -> dict[str, list[str]]:
    """Map `5` to all of `5`, `5.0` and `+5` where several of them occur; `05` is another label."""
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        match = WHOLE_NUMBER.fullmatch(label)
        if match:
            spellings[match[1]].append(label)
    return {name: equal for name, equal in spellings.items() if len(equal) > 1}
