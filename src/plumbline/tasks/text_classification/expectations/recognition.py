"""Groups that nobody named: values that come back in held-out splits with the label they had.

A model can then recognise a customer instead of understanding the case, and a score says nothing
about customers to come.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_sets import (
    ListLabels,
    choose_list_labels,
    list_one_label,
)
from plumbline.tasks.text_classification.expectations.text_rows import find_equal, name_metadata
from plumbline.tasks.text_classification.params import TextParams

# Three digits or more in a word: prices and years are like that too, but do not predict a label.
IDENTIFIER = re.compile(r"(?<![^\W_])[^\W\d_]*+(?:\d[^\W\d_]*+){3,}+")
MIN_VALUES = 20  # fewer are categories, such as channels or products
MAX_ROWS_EACH = 30  # on average; a value with more is a kind of case, not a customer
MIN_VALUES_EACH = 3  # of a label, on average; fewer are codes of the label, not customers
MIN_SHARED = 0.05  # of the held-out rows, this share has a value of an earlier split
MIN_HITS = 0.9  # of these rows, this share has the label that the value had there
MIN_LIFT = 0.5  # and of what the most frequent label leaves, the value gains this share


def find_shared_groups(
    rows: StoredRows, params: TextParams, split: str, before: Sequence[str]
) -> dict[int, str]:
    """For each row of `split` whose group is in a split of `before`: that group."""
    columns = params.data.columns
    list_labels = choose_list_labels(columns.has_label_sets)
    findings = find_recognised(rows, split, before, columns.metadata, list_labels)
    column = params.data.split.column
    if params.data.split.by == "group" and column in columns.metadata:
        name = name_metadata(columns.metadata.index(column))
        own = rows.query(f'SELECT "#row", "{name}" FROM rows WHERE split = ?', split)  # noqa: S608
        groups = dict(own.itertuples(index=False, name=None))
        for row in find_equal(rows, name, split, before):
            findings.setdefault(row, groups[row])
    return findings


def find_recognised(
    rows: StoredRows,
    split: str,
    before: Sequence[str],
    columns: Sequence[str],
    list_labels: ListLabels = list_one_label,
) -> dict[int, str]:
    """For each row of `split` that a value in a split of `before` gives away: it.

    Values are those of each of `columns`, and numbers in the texts. Of sets of labels, a value
    gives one label away: the same set hardly comes back.
    """
    held_out = rows.query('SELECT "#row", label FROM rows WHERE split = ?', split)
    labels = {
        row: list_labels(label) or (label,)
        for row, label in held_out.itertuples(index=False, name=None)
    }
    findings: dict[int, str] = {}
    named = {column: name_metadata(number) for number, column in enumerate(columns)}
    for shown, name in {"the number": "normal", **named}.items():
        num_entries = 0
        known: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _, label, value in _read_values(rows, name, before):
            num_entries += 1
            known[value].update(list_labels(label) or (label,))
        if len(known) < MIN_VALUES or num_entries > MAX_ROWS_EACH * len(known):
            continue
        asked = _read_values(rows, name, [split])
        shared = {row: value for row, _, value in asked if value in known}  # of several the last
        _add_recognised(findings, shown, known, shared, labels)
    return findings


def _read_values(
    rows: StoredRows, name: str, splits: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield row, label and value of a column, where it has one; of texts each number."""
    query = f'SELECT "#row", label, "{name}" FROM rows'  # noqa: S608
    asked = f"{query} WHERE split IN (SELECT unnest(?)) AND {{part}}"
    for batch in rows.read_parts(asked, list(splits)):
        for row, label, value in zip(*(column.to_pylist() for column in batch), strict=True):
            for each in IDENTIFIER.findall(value) if name == "normal" else [value]:
                if each:
                    yield row, label, each


def _add_recognised(
    findings: dict[int, str],
    name: str,
    known: Mapping[str, Counter[str]],
    shared: Mapping[int, str],
    labels: Mapping[int, tuple[str, ...]],
) -> None:
    """Add the rows that values give away, if these are many and predict a label.

    `known` has the labels of each value in earlier splits, `shared` the value of each held-out row
    that has one of them, `labels` those of all held-out rows.
    """
    if len(shared) < max(1, MIN_SHARED * len(labels)):
        return
    learned = {value: counts.most_common(1)[0][0] for value, counts in known.items()}
    if len(known) < MIN_VALUES_EACH * len(set(learned.values())):
        return
    own = {row: labels[row] for row in shared}
    share = sum(learned[value] in own[row] for row, value in shared.items()) / len(shared)
    counts = Counter(label for each in own.values() for label in each)
    usual = max(counts.values()) / len(own)
    if share < MIN_HITS or share - usual < MIN_LIFT * (1 - usual):
        return
    for row, value in shared.items():
        findings.setdefault(
            row, f"{name} {value!r} is in an earlier split; such values tell {share:.0%} of labels"
        )
