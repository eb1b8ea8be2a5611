"""What the columns of a file hold: which is the text, which the label, how many rows of what."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from plumbline.contract.errors import DataError
from plumbline.init.columns import (
    MAX_CLASSES,
    MAX_ROWS,
    MIN_ROWS_PER_CLASS,
    MIN_WORDS,
    NEGATIVES,
    ColumnProfile,
    FileColumns,
    find_usual,
    guess_column,
    guess_label,
    guess_pair,
    list_usual_names,
    read_columns,
)

NAMING = {
    "label": "name it: --label COLUMN; or each of several that say 1 or 0: --label A --label B\n"
    "for a search, name the column of what answers a text: --passage COLUMN",
    "text": "name it: --text COLUMN",
}
MEANINGS = {
    "label": f"2 to {MAX_CLASSES} values, of at least {MIN_ROWS_PER_CLASS} rows each on average",
    "text": f"at least {MIN_WORDS:g} words on average, mostly different ones in each row",
}
CORPUS, QUERY_ID = "corpus.jsonl", "query-id"  # of the layout of BEIR
WORD = re.compile(r"\w+|[^\w\s]")
NUM_CHECKED = 2000  # texts whose language is looked at
MAX_CHECKED = 2000  # characters of each, so that no single one decides
FUNCTION_WORDS = frozenset((
    "the", "a", "an", "and", "or", "of", "to", "in", "on", "for", "is", "are", "was", "i", "you",
    "it", "my", "your", "this", "that", "not", "with", "have", "be", "do", "can",
))  # fmt: skip


@dataclass(frozen=True)
class FileSurvey:
    """A file of texts and labels, or of queries and passages."""

    path: Path
    num_rows: int
    is_whole: bool  # False: only the first rows were looked at
    text: str
    labels: list[str]  # one column, or one for each label
    separator: str | None  # of the labels in a cell; None: there is one
    others: list[str]  # the other columns
    groups: list[str]  # of these, what has few values
    label_sets: Counter[tuple[str, ...]]  # rows of each set of labels, of one each where they are
    lengths: list[int]  # words and punctuation marks of each text or passage, ascending
    english: float  # share of words that are English function words
    num_decoded: int  # rows with bytes that are not UTF-8
    passage: str | None = None  # the column of what answers a text; then there are no labels
    negative: str | None = None  # the column of what does not
    held_out: Mapping[str, int] = field(default_factory=dict)  # queries of splits that are given

    @property
    def has_label_sets(self) -> bool:
        """Whether a row may have several labels."""
        return self.separator is not None or len(self.labels) > 1

    @cached_property
    def classes(self) -> Counter[str]:
        """Rows of each label."""
        classes: Counter[str] = Counter()
        for labels, count in self.label_sets.items():
            classes.update(dict.fromkeys(labels, count))
        return classes

    @property
    def majority(self) -> float:
        """Share of the rows that have the most frequent label, or set of labels."""
        return max(self.label_sets.values(), default=0) / max(1, self.label_sets.total())

    @property
    def long_text(self) -> int:
        """Words and punctuation marks that 99 % of the texts have at most."""
        return self.lengths[math.floor(0.99 * (len(self.lengths) - 1))]


def inspect_file(
    path: Path,
    text: str | None,
    labels: Sequence[str],
    separator: str | None = None,
    passage: str | None = None,
) -> FileSurvey:
    """Look at a file; `text`, `labels` and `passage` name columns, None and an empty list: guess.

    `separator` is that of several labels in a cell; "": a cell is one label, None: guess. A folder
    with corpus.jsonl has no columns to name. Raises DataError where the file cannot be read or a
    column cannot be told from the others.
    """
    if (path / CORPUS).is_file() and not (text or labels or passage):
        return _inspect_judged(path)
    columns = read_columns(path)
    pair = _choose_pair(columns, text, labels, passage)
    names: list[str] = []
    sets: Counter[tuple[str, ...]] = Counter()
    negative = None
    if pair:
        text, passage = pair
        separator, negative = None, find_usual(columns.profiles, NEGATIVES)
    else:
        text, names = _choose_columns(columns, text, labels, separator)
        if text in names:
            raise DataError(f"{path}: {text} is named as text and as label; name another column")
        if not labels:
            for name in names:
                _check_header(path, columns.profiles[name])
        if separator is None and len(names) == 1:
            separator = columns.profiles[names[0]].separator
        sets = _count_label_sets(columns, names, separator or None)
    index = list(columns.profiles).index(passage or text)
    others = [name for name in columns.profiles if name not in (text, passage, negative, *names)]
    texts = [value for row in columns.rows if (value := row.values[index])]
    return FileSurvey(
        path,
        columns.num_rows,
        columns.num_rows < MAX_ROWS,
        text,
        names,
        separator or None,
        others,
        [name for name in columns.list_possible_labels(text) if name in others],
        sets,
        sorted(len(WORD.findall(value)) for value in texts),
        _measure_english(texts),
        sum(row.decoded for row in columns.rows),
        passage,
        negative,
    )


def _inspect_judged(folder: Path) -> FileSurvey:
    """Look at a folder in the layout of BEIR; its rows are the queries of qrels/train.tsv."""
    asked: Counter[str] = Counter(train=0)
    for path in folder.glob("qrels/*.tsv"):
        columns = read_columns(path)
        ids = columns.profiles[_require_column(columns, QUERY_ID, "column")].values
        asked[path.stem.replace("dev", "validation")] += len(ids)
    if not (num_rows := asked.pop("train")):
        raise DataError(f"{folder}/qrels/train.tsv is missing: there is nothing to learn from")
    corpus = inspect_file(folder / CORPUS, "_id", (), passage="text")
    corpus = replace(corpus, text="query", passage="passage", others=[], groups=[])
    return replace(corpus, path=folder, num_rows=num_rows, held_out=dict(asked))


def _choose_pair(
    columns: FileColumns, text: str | None, labels: Sequence[str], passage: str | None
) -> tuple[str, str] | None:
    """Return the columns of query and passage; None where the file is to be of labels."""
    if passage is None:
        return None if labels or text else guess_pair(columns)
    if labels or text in (None, passage):
        raise DataError(
            f"{columns.path}: --passage {passage}: the passages of a search; name its queries with "
            "--text, and no --label"
        )
    query = _require_column(columns, text or "", "--text")
    return query, _require_column(columns, passage, "--passage")


def _choose_columns(
    columns: FileColumns, text: str | None, labels: Sequence[str], separator: str | None
) -> tuple[str, list[str]]:
    named = [_require_column(columns, name, "--label") for name in labels]
    guessed = None if named else guess_label(columns, text)
    names = [guessed] if guessed else named
    if separator and len(names) > 1:
        raise DataError(
            f"{columns.path}: --label-separator {separator}: each of {', '.join(names)} is one "
            "label; name one column with --label"
        )
    texts = columns.list_possible_texts(names)
    chosen = guess_column(texts, list_usual_names("text"))
    if text is not None:
        chosen = _require_column(columns, text, "--text")
    if names and chosen is not None:
        return chosen, names
    unclear = {} if names else {"label": columns.list_possible_labels(text)}
    _refuse_to_guess(columns, unclear | ({} if chosen else {"text": texts}))


def _require_column(columns: FileColumns, name: str, option: str) -> str:
    if name not in columns.profiles:
        present = ", ".join(columns.profiles) + columns.hint
        raise DataError(f"{columns.path}: {option} {name}: no such column; found: {present}")
    if columns.profiles[name].num_filled == 0:
        raise DataError(
            f"{columns.path}: {option} {name}: the column is empty in all "
            f"{columns.num_rows:,} rows; fill it, or name another column"
        )
    return name


def _refuse_to_guess(columns: FileColumns, unclear: dict[str, list[str]]) -> NoReturn:
    parts = []
    for role, possible in unclear.items():
        shown = columns.describe(possible or columns.profiles)
        problem = "several columns can be" if possible else "no column can be"
        parts.append(f"{problem} the {role} ({MEANINGS[role]}):\n  {shown}\n{NAMING[role]}")
    raise DataError(f"{columns.path}: " + "\n".join(parts) + columns.hint)


def _check_header(path: Path, label: ColumnProfile) -> None:
    if label.name in label.values:
        raise DataError(
            f"{path}: no line with the names of the columns: {label.name!r} in the first line is "
            "also the label of rows; add a line such as text,label, or, if it is the name of the "
            f"column, say --label {label.name}"
        )


def _count_label_sets(
    columns: FileColumns, names: list[str], separator: str | None
) -> Counter[tuple[str, ...]]:
    """Count the rows of each set of labels, read as `ingest` will read them.

    Raises DataError for a cell that it would refuse, and where no row has a label.
    """
    from plumbline.tasks.text_classification.data.label_cells import LabelCells
    from plumbline.tasks.text_classification.params import SourceColumns

    label = names if len(names) > 1 else names[0]
    chosen = SourceColumns.model_construct(label=label, label_separator=separator)  # checked later
    cells = LabelCells(chosen)
    indices = [list(columns.profiles).index(name) for name in names]
    counts: Counter[tuple[str, ...]] = Counter()
    for row in columns.rows:
        values = [row.values[index] for index in indices]
        cell = cells.read(values, f"{columns.path}:{row.number}")
        if cell is not None:
            counts[cells.list_labels(cell.text)] += 1
    if not any(counts):
        raise DataError(f"{columns.path}: no row has a label in {', '.join(names)}")
    return counts


def _measure_english(texts: list[str]) -> float:
    step = max(1, len(texts) // NUM_CHECKED)
    words = [word for text in texts[::step] for word in text[:MAX_CHECKED].lower().split()]
    return sum(word in FUNCTION_WORDS for word in words) / max(len(words), 1)
