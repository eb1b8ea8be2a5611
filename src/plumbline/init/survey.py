"""What the columns of a file hold: which is the text, which the label, how many rows of what."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from plumbline.contract.errors import DataError
from plumbline.init.columns import (
    MAX_CLASSES,
    MAX_ROWS,
    MIN_ROWS_PER_CLASS,
    MIN_WORDS,
    ColumnProfile,
    FileColumns,
    guess_label,
    guess_text,
    read_columns,
)

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

    @property
    def long_text(self) -> int:
        """Words and punctuation marks that 99 % of the texts have at most."""
        return self.lengths[math.floor(0.99 * (len(self.lengths) - 1))]


def inspect_file(path: Path, text: str | None, label: str | None) -> FileSurvey:
    """Look at a file; `text` and `label` name columns, None: guess.

    Raises DataError where the file cannot be read or a column cannot be told from the others.
    """
    columns = read_columns(path)
    label = _choose_label(columns, label, text)
    text = _choose_text(columns, text, label)
    _check_header(path, columns.profiles[label])
    index = list(columns.profiles).index(text)
    texts = [row[index] or "" for row in columns.rows if row[index]]
    return FileSurvey(
        path,
        columns.num_rows,
        columns.num_rows < MAX_ROWS,
        text,
        label,
        [name for name in columns.profiles if name not in (text, label)],
        columns.profiles[label].values,
        sorted(len(WORD.findall(value)) for value in texts),
        _measure_english(texts),
    )


def _choose_label(columns: FileColumns, wanted: str | None, text: str | None) -> str:
    if wanted is not None:
        return _require_column(columns, wanted, "--label")
    possible = columns.list_possible_labels(text)
    return guess_label(possible) or _refuse_to_guess(columns, possible, "label")


def _choose_text(columns: FileColumns, wanted: str | None, label: str) -> str:
    if wanted is not None:
        return _require_column(columns, wanted, "--text")
    possible = columns.list_possible_texts(label)
    return guess_text(possible) or _refuse_to_guess(columns, possible, "text")


def _require_column(columns: FileColumns, name: str, option: str) -> str:
    if name not in columns.profiles:
        present = ", ".join(columns.profiles)
        raise DataError(f"{columns.path}: {option} {name}: no such column; found: {present}")
    if columns.profiles[name].num_filled == 0:
        raise DataError(
            f"{columns.path}: {option} {name}: the column is empty in all "
            f"{columns.num_rows:,} rows; fill it, or name another column"
        )
    return name


def _refuse_to_guess(columns: FileColumns, possible: list[str], role: str) -> NoReturn:
    shown = columns.describe(possible or columns.profiles)
    problem = "several columns can be" if possible else "no column can be"
    raise DataError(
        f"{columns.path}: {problem} the {role} ({MEANINGS[role]}):\n  {shown}\n"
        f"name it: --{role} COLUMN"
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
