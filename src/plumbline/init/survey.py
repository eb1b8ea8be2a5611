"""What the columns of a file hold: which is the text, which the label, how many rows of what."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.init.header import read_header
from plumbline.sources import formats
from plumbline.sources.records import ReadRequest, WantedColumn

MAX_ROWS = 100_000  # that are looked at
MAX_VALUES = 20_000  # distinct ones that are counted in a column
MAX_CLASSES = 500
MIN_ROWS_PER_CLASS = 4  # on average, of a label
MAX_LABEL_CHARS = 80
MIN_FILLED = 0.5  # share of rows in which a text or label column has a value
MIN_WORDS = 2.0  # a text has, on average
MEANINGS = {
    "label": f"2 to {MAX_CLASSES} values, of at least {MIN_ROWS_PER_CLASS} rows each on average",
    "text": f"at least {MIN_WORDS:g} words on average, mostly different ones in each row",
}
WORD = re.compile(r"\w+|[^\w\s]")
NUM_CHECKED = 2000  # texts whose language is looked at
FUNCTION_WORDS = frozenset(
    [
        *("the", "a", "an", "and", "or", "of", "to", "in", "on", "for", "is", "are", "was", "i"),
        *("you", "it", "my", "your", "this", "that", "not", "with", "have", "be", "do", "can"),
    ]
)


@dataclass
class ColumnProfile:
    """Counts of one column."""

    name: str
    num_filled: int = 0
    num_chars: int = 0
    num_words: int = 0
    values: Counter[str] = field(default_factory=Counter)

    def add(self, value: str | None) -> None:
        """Count one value."""
        if not value or not value.strip():
            return
        self.num_filled += 1
        self.num_chars += len(value)
        self.num_words += len(value.split())
        if value in self.values or len(self.values) < MAX_VALUES:
            self.values[value] += 1

    def describe(self, num_rows: int) -> str:
        """Describe the column in a message."""
        values = f"{len(self.values):,} values" if len(self.values) > 1 else "one value"
        return (
            f"{self.name!r} ({values} in {num_rows:,} rows, "
            f"{self.num_words / max(self.num_filled, 1):.1f} words each)"
        )

    def is_text(self, num_rows: int) -> bool:
        """Whether the values may be texts: words, and mostly other ones in each row."""
        is_filled = self.num_filled >= MIN_FILLED * num_rows
        is_varied = 2 * len(self.values) >= min(self.num_filled, MAX_VALUES)
        return is_filled and is_varied and self.num_words >= MIN_WORDS * self.num_filled

    def is_label(self, num_rows: int) -> bool:
        """Whether the values may be classes: few, short, each in several rows."""
        num_classes = len(self.values)
        is_repeated = 2 <= num_classes <= MAX_CLASSES
        is_frequent = num_classes * MIN_ROWS_PER_CLASS <= self.num_filled
        is_short = self.num_chars <= MAX_LABEL_CHARS * self.num_filled
        return is_repeated and is_frequent and is_short and self.num_filled >= MIN_FILLED * num_rows


@dataclass(frozen=True)
class FileSurvey:
    """A file of texts and labels."""

    path: Path
    num_rows: int
    is_whole: bool  # False: only the first rows were looked at
    text: str
    label: str
    others: list[str]  # the other columns
    classes: Counter[str]
    lengths: list[int]  # words and punctuation marks of each text, ascending
    english: float  # share of words that are English function words


def inspect_file(path: Path, text: str | None, label: str | None) -> FileSurvey:
    """Look at a file; `text` and `label` name columns, None: guess.

    Raises DataError where the file cannot be read or a column cannot be told from the others.
    """
    header = read_header(path)
    if len(header) < 2:
        raise DataError(
            f"{path}: {len(header)} columns with one value a row, expected a text and a label in "
            "each row, and their names in the first line"
        )
    rows = _read_rows(path, header)
    profiles = _count_columns(header, rows)
    label_column = _choose_label(path, profiles, label, text, len(rows))
    text_column = _choose_text(path, profiles, text, label_column, len(rows))
    _check_header(path, profiles[label_column])
    index = header.index(text_column)
    texts = [row[index] or "" for row in rows if row[index]]
    return FileSurvey(
        path,
        len(rows),
        len(rows) < MAX_ROWS,
        text_column,
        label_column,
        [name for name in header if name not in (text_column, label_column)],
        profiles[label_column].values,
        sorted(len(WORD.findall(value)) for value in texts),
        _measure_english(texts),
    )


def _read_rows(path: Path, header: list[str]) -> list[tuple[str | None, ...]]:
    wanted = tuple(WantedColumn(name, "--data") for name in header)
    request = ReadRequest(wanted, refuse_encoding=False)
    rows = formats.read_rows(path.open("rb"), path.name, request)
    values = [tuple(row.values) for row in islice(rows, MAX_ROWS)]
    if not values:
        raise DataError(f"{path}: no rows below the names of the columns")
    return values


def _count_columns(
    header: list[str], rows: Iterable[tuple[str | None, ...]]
) -> dict[str, ColumnProfile]:
    profiles = [ColumnProfile(name) for name in header]
    for row in rows:
        for profile, value in zip(profiles, row, strict=True):
            profile.add(value)
    return {profile.name: profile for profile in profiles}


def _choose_label(
    path: Path,
    profiles: dict[str, ColumnProfile],
    wanted: str | None,
    text: str | None,
    num_rows: int,
) -> str:
    from plumbline.tasks.text_classification.data.ingestion import LABEL_SYNONYMS

    if wanted is not None:
        return _require_column(path, profiles, wanted, "--label")
    possible = [
        name for name, profile in profiles.items() if name != text and profile.is_label(num_rows)
    ]
    names = ("label", *LABEL_SYNONYMS)
    return _choose(path, profiles, possible, names, "label", num_rows)


def _choose_text(
    path: Path,
    profiles: dict[str, ColumnProfile],
    wanted: str | None,
    label: str,
    num_rows: int,
) -> str:
    from plumbline.tasks.text_classification.data.ingestion import TEXT_SYNONYMS

    if wanted is not None:
        return _require_column(path, profiles, wanted, "--text")
    possible = [
        name for name, profile in profiles.items() if name != label and profile.is_text(num_rows)
    ]
    return _choose(path, profiles, possible, ("text", *TEXT_SYNONYMS), "text", num_rows)


def _require_column(path: Path, profiles: dict[str, ColumnProfile], name: str, option: str) -> str:
    if name not in profiles:
        raise DataError(f"{path}: {option} {name}: no such column; found: {', '.join(profiles)}")
    return name


def _choose(
    path: Path,
    profiles: dict[str, ColumnProfile],
    possible: list[str],
    names: tuple[str, ...],
    role: str,
    num_rows: int,
) -> str:
    """Return the only possible column, or the one with the first of `names`."""
    by_name = {name.lower(): name for name in reversed(possible)}
    usual = [by_name[name] for name in names if name in by_name]
    if len(possible) == 1 or usual:
        return usual[0] if usual else possible[0]
    shown = possible or list(profiles)
    columns = "\n  ".join(profiles[name].describe(num_rows) for name in shown)
    problem = "several columns can be" if possible else "no column can be"
    raise DataError(
        f"{path}: {problem} the {role} ({MEANINGS[role]}):\n  {columns}\nname it: --{role} COLUMN"
    )


def _check_header(path: Path, label: ColumnProfile) -> None:
    if label.name in label.values:
        raise DataError(
            f"{path}: no line with the names of the columns: {label.name!r} in the first line is "
            "also the label of rows; add a line such as text,label"
        )


def _measure_english(texts: list[str]) -> float:
    step = max(1, len(texts) // NUM_CHECKED)
    words = [word for text in texts[::step] for word in text.lower().split()]
    return sum(word in FUNCTION_WORDS for word in words) / max(len(words), 1)
