"""Which columns a file has, what is in them, and which can be the text and which the label."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.init.separators import find_separator, split_cell
from plumbline.tables import formats
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn

MAX_ROWS = 100_000  # that are looked at
MAX_VALUES = 20_000  # distinct ones that are counted in a column
MAX_CLASSES = 500
MIN_ROWS_PER_CLASS = 4  # on average, of a label
MAX_LABEL_CHARS = 80
MIN_FILLED = 0.5  # share of rows in which a text or label column has a value
MIN_WORDS = 2.0  # a text has, on average
QUERIES = ("query", "question", "anchor", "search", "sentence1")
PASSAGES = ("passage", "answer", "positive", "document", "context", "sentence2")
NEGATIVES = ("negative", "hard_negative", "negative_passage", "neg")


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
        self.num_words += sum(any(map(str.isalpha, word)) for word in value.split())  # no prices
        if value in self.values or len(self.values) < MAX_VALUES:
            self.values[value] += 1

    @cached_property
    def separator(self) -> str | None:
        """What is between the labels of a cell, once all values are counted; None: one a cell."""
        return find_separator(self.values)

    def describe(self, num_rows: int) -> str:
        """Describe the column in a message."""
        values = f"{len(self.values):,} values" if len(self.values) > 1 else "one value"
        return (
            f"{self.name!r} ({values} in {num_rows:,} rows, "
            f"{self.num_words / max(self.num_filled, 1):.1f} words each)"
        )

    def is_text(self, num_rows: int) -> bool:
        """Whether the values may be texts: words, and mostly other ones in each row.

        A column with a usual name may have single words, or a script without blanks.
        """
        is_filled = self.num_filled >= MIN_FILLED * num_rows
        is_varied = 2 * len(self.values) >= min(self.num_filled, MAX_VALUES)
        has_words = self.num_words >= MIN_WORDS * self.num_filled
        return (
            is_filled and is_varied and (has_words or self.name.lower() in list_usual_names("text"))
        )

    def is_label(self, num_rows: int) -> bool:
        """Whether values, or the labels in them, may be classes: few, short, in several rows."""
        labels = self._count_labels()
        is_repeated = 2 <= len(labels) <= MAX_CLASSES
        is_frequent = len(labels) * MIN_ROWS_PER_CLASS <= self.num_filled
        is_short = self.num_chars <= MAX_LABEL_CHARS * max(self.num_filled, labels.total())
        return is_repeated and is_frequent and is_short and self.num_filled >= MIN_FILLED * num_rows

    def _count_labels(self) -> Counter[str]:
        if self.separator is None:
            return self.values
        labels: Counter[str] = Counter()
        for value, count in self.values.items():
            labels.update(dict.fromkeys(split_cell(value, self.separator), count))
        return labels


@dataclass(frozen=True)
class FileColumns:
    """The first rows of a file, and what their columns hold."""

    path: Path
    rows: list[SourceRow]
    profiles: dict[str, ColumnProfile]  # by name, in the file's order
    hint: str  # which columns cannot be chosen, as they have one name; empty for none

    @property
    def num_rows(self) -> int:
        """How many rows were looked at."""
        return len(self.rows)

    def describe(self, names: Iterable[str]) -> str:
        """Describe some of the columns in a message, one a line."""
        return "\n  ".join(self.profiles[name].describe(self.num_rows) for name in names)

    def list_possible_labels(self, text: str | None) -> list[str]:
        """List the columns beside `text` that can be the label, or sets of labels."""
        profiles = self.profiles.items()
        return [name for name, it in profiles if name != text and it.is_label(self.num_rows)]

    def list_possible_texts(self, labels: Sequence[str]) -> list[str]:
        """List the columns beside `labels` that can be the text."""
        profiles = self.profiles.items()
        return [name for name, it in profiles if name not in labels and it.is_text(self.num_rows)]


def read_columns(path: Path) -> FileColumns:
    """Read the first rows of a file; raises DataError where it cannot be used."""
    if path.is_dir():
        raise DataError(f"{path}: a folder; name a file of texts and labels, such as one in it")
    counts = Counter(formats.list_columns(formats.open_file(path), path.name))
    header = [name for name, count in counts.items() if count == 1]
    twice = [name for name, count in counts.items() if count > 1]
    hint = "".join(f"; several columns are called {name!r}: rename all but one" for name in twice)
    if len(header) < 2:
        raise DataError(
            f"{path}: {len(header)} columns with one value a row, expected a text and a label in "
            f"each row, and their names in the first line{hint}"
        )
    wanted = tuple(WantedColumn(name, "--data", may_be_list=True) for name in header)
    request = ReadRequest(wanted, refuse_encoding=False)
    rows = [*islice(formats.read_rows(formats.open_file(path), path.name, request), MAX_ROWS)]
    if not rows:
        raise DataError(f"{path}: no rows below the names of the columns")
    profiles = {name: ColumnProfile(name) for name in header}
    for row in rows:
        for profile, value in zip(profiles.values(), row.values, strict=True):
            profile.add(value)
    return FileColumns(path, rows, profiles, hint)


def guess_label(columns: FileColumns, text: str | None) -> str | None:
    """Return the column of the labels, None: not clear.

    It is the one of a usual name or the only one, if need be the only one without sets.
    """
    possible = columns.list_possible_labels(text)
    single = [name for name in possible if columns.profiles[name].separator is None]
    return guess_column(possible, list_usual_names("label")) or guess_column(single, ())


def guess_pair(columns: FileColumns) -> tuple[str, str] | None:
    """Return the columns of queries and of the passages that answer them; None: there are none.

    They have usual names, or are the only two texts of a file without a label: then the shorter
    ones are the queries.
    """
    names = list(columns.profiles)
    labels = columns.list_possible_labels(None)
    if find_usual(labels, list_usual_names("label")):
        return None
    query, passage = find_usual(names, QUERIES), find_usual(names, PASSAGES)
    if query and passage:
        return query, passage
    texts = columns.list_possible_texts(())
    if labels or len(texts) != 2:
        return None
    first, second = sorted(texts, key=lambda name: columns.profiles[name].num_chars)
    return first, second


def list_usual_names(role: str) -> tuple[str, ...]:
    """List the usual names of a column, `label` or `text`, in lower case, the best first."""
    from plumbline.tasks.text_classification.data.ingestion import LABEL_SYNONYMS, TEXT_SYNONYMS

    return (role, *{"label": LABEL_SYNONYMS, "text": TEXT_SYNONYMS}[role])


def guess_column(possible: list[str], names: tuple[str, ...]) -> str | None:
    """Return the one of a usual name, or the only one of the possible columns; None: not clear."""
    only = possible[0] if len(possible) == 1 else None
    return find_usual(possible, names) or only


def find_usual(possible: Iterable[str], names: tuple[str, ...]) -> str | None:
    """Return the first of the columns that has one of the names, the best names first."""
    by_name = {name.lower(): name for name in reversed([*possible])}
    return next((by_name[name] for name in names if name in by_name), None)
