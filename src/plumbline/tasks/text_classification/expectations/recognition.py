"""Groups that nobody named: values that come back in held-out splits with the label they had.

A model can then recognise a customer instead of understanding the case, and a score says nothing
about customers to come.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plumbline.contract.rows import RowBatches
from plumbline.tasks.text_classification.expectations.each_label import (
    ListLabels,
    choose_list_labels,
    list_one_label,
)
from plumbline.tasks.text_classification.expectations.text_rows import (
    collect_rows,
    map_first_ids,
    select_splits,
)
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Three digits or more in a word: prices and years are like that too, but do not predict a label.
IDENTIFIER = re.compile(r"(?<![^\W_])[^\W\d_]*+(?:\d[^\W\d_]*+){3,}+")
MIN_VALUES = 20  # fewer are categories, such as channels or products
MAX_ROWS_EACH = 30  # on average; a value with more is a kind of case, not a customer
MIN_VALUES_EACH = 3  # of a label, on average; fewer are codes of the label, not customers
MIN_SHARED = 0.05  # of the held-out rows, this share has a value of an earlier split
MIN_HITS = 0.9  # of these rows, this share has the label that the value had there
MIN_LIFT = 0.5  # and of what the most frequent label leaves, the value gains this share


def find_shared_groups(
    rows: RowBatches, params: TextParams, split: str, before: Sequence[str]
) -> dict[int, str]:
    """For each row of `split` whose group is in a split of `before`: that group."""
    columns = params.data.columns
    list_labels = choose_list_labels(columns.has_label_sets)
    findings = find_recognised(
        rows, split, before, _list_present(rows, columns.metadata), list_labels
    )
    column = params.data.split.column
    if params.data.split.by == "group" and column in _list_present(rows, [str(column)]):
        groups = collect_rows(select_splits(rows, [split]), [column])[column]
        known = map_first_ids(select_splits(rows, before), column, groups)
        for row, group in zip(groups.index.tolist(), groups.tolist(), strict=True):
            if group in known:
                findings.setdefault(row, group)
    return findings


def find_recognised(
    rows: RowBatches,
    split: str,
    before: Sequence[str],
    columns: Sequence[str],
    list_labels: ListLabels = list_one_label,
) -> dict[int, str]:
    """For each row of `split` that a value in a split of `before` gives away: it.

    Values are those of each of `columns`, and numbers in the texts. Of sets of labels, a value
    gives one label away: the same set hardly comes back.
    """

    def list_row_labels(label: str) -> tuple[str, ...]:
        return list_labels(label) or (label,)

    wanted = list(dict.fromkeys(["normal", "label", *columns]))
    held_out = collect_rows(select_splits(rows, [split]), wanted)
    labels = held_out["label"].map(list_row_labels)
    findings: dict[int, str] = {}
    learned = _learn_labels(select_splits(rows, before), columns, list_row_labels)
    asked = {"the number": _find_numbers(held_out["normal"])}
    for column in columns:
        asked[column] = held_out.loc[held_out[column] != "", column]
    for name, values in asked.items():
        _add_recognised(findings, name, learned[name], values, labels)
    return findings


def _list_present(rows: RowBatches, columns: Sequence[str]) -> list[str]:
    names = next(iter(rows)).schema.names
    return [column for column in columns if column in names]


def _find_numbers(texts: "pd.Series") -> "pd.Series":
    """Return the numbers in each text, one an entry, with the index of the text."""
    return texts.map(IDENTIFIER.findall).explode().dropna()


@dataclass
class _LearnedLabels:
    """How often each value of earlier splits has each label."""

    num_entries: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, value: str, labels: tuple[str, ...]) -> None:
        self.num_entries += 1
        self.counts.setdefault(value, Counter()).update(labels)

    def merge(self, other: "_LearnedLabels") -> None:
        self.num_entries += other.num_entries
        for value, counts in other.counts.items():
            self.counts.setdefault(value, Counter()).update(counts)


def _learn_labels(
    rows: RowBatches, columns: Sequence[str], list_labels: ListLabels
) -> dict[str, _LearnedLabels]:
    """Learn the labels of the numbers in the texts, and those of the values of each column."""

    def learn(batch: "pa.RecordBatch") -> dict[str, _LearnedLabels]:
        learned = {name: _LearnedLabels() for name in ("the number", *columns)}
        labels = [list_labels(label) for label in batch["label"].to_pylist()]
        for text, own in zip(batch["normal"].to_pylist(), labels, strict=True):
            for number in IDENTIFIER.findall(text):
                learned["the number"].add(number, own)
        for column in columns:
            for value, own in zip(batch[column].to_pylist(), labels, strict=True):
                if value != "":
                    learned[column].add(value, own)
        return learned

    return rows.fold(learn, _merge_learned)


def _merge_learned(
    one: dict[str, _LearnedLabels], other: dict[str, _LearnedLabels]
) -> dict[str, _LearnedLabels]:
    for name, learned in other.items():
        one[name].merge(learned)
    return one


def _add_recognised(
    findings: dict[int, str],
    name: str,
    known: _LearnedLabels,
    asked: "pd.Series",
    labels: "pd.Series",
) -> None:
    """Add the rows that values give away, if these are many and predict a label.

    `asked` has a value an entry, with the index of its row, `labels` one entry a held-out row.
    """
    num_values = len(known.counts)
    if num_values < MIN_VALUES or known.num_entries > MAX_ROWS_EACH * num_values:
        return
    recognised = asked[asked.isin(list(known.counts))]
    # Of several values the last one.
    shared = dict(zip(recognised.index.tolist(), recognised.tolist(), strict=True))
    if len(shared) < max(1, MIN_SHARED * len(labels)):
        return
    learned = {value: counts.most_common(1)[0][0] for value, counts in known.counts.items()}
    if num_values < MIN_VALUES_EACH * len(set(learned.values())):
        return
    own = labels.loc[list(shared)].to_dict()
    share = sum(learned[value] in own[row] for row, value in shared.items()) / len(shared)
    counts = Counter(label for each in own.values() for label in each)
    usual = max(counts.values()) / len(own)
    if share < MIN_HITS or share - usual < MIN_LIFT * (1 - usual):
        return
    for row, value in shared.items():
        findings.setdefault(
            row, f"{name} {value!r} is in an earlier split; such values tell {share:.0%} of labels"
        )
