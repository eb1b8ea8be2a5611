"""Groups that nobody named: values that come back in held-out splits with the label they had.

A model can then recognise a customer instead of understanding the case, and a score says nothing
about customers to come.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

# Three digits or more in a word: prices and years are like that too, but do not predict a label.
IDENTIFIER = re.compile(r"[^\W_]*(?:\d[^\W_]*){3,}")
MIN_VALUES = 20  # fewer are categories, such as channels or products
MAX_ROWS_EACH = 30  # on average; a value with more is a kind of case, not a customer
MIN_VALUES_EACH = 3  # of a label, on average; fewer are codes of the label, not customers
MIN_SHARED = 0.05  # of the held-out rows, this share has a value of an earlier split
MIN_HITS = 0.9  # of these rows, this share has the label that the value had there
MIN_LIFT = 0.5  # and of what the most frequent label leaves, the value gains this share

Values = Mapping[Hashable, Sequence[str]]  # row -> values


def find_shared_groups(
    rows: "pd.DataFrame", params: TextParams, split: str, before: Sequence[str]
) -> "pd.Series":
    """For each row of `split` whose group is in a split of `before`: that group. Else null."""
    metadata = [column for column in params.data.columns.metadata if column in rows]
    has_sets = params.data.columns.has_label_sets
    findings = find_recognised(rows, split, before, metadata, has_sets=has_sets)
    column = params.data.split.column
    if params.data.split.by == "group" and column in rows:
        known = set(rows.loc[rows["split"].isin(before), column])
        groups = rows[column].where(rows["split"] == split)
        findings = findings.fillna(groups.where(groups.isin(known)))
    return findings


def find_recognised(
    rows: "pd.DataFrame",
    split: str,
    before: Sequence[str],
    columns: Iterable[str],
    *,
    has_sets: bool = False,
) -> "pd.Series":
    """For each row of `split` that a value in a split of `before` gives away: it. Else null.

    Values are those of each of `columns`, and numbers in the texts. Of sets of labels, a value
    gives one label away: the same set hardly comes back.
    """

    def list_labels(label: str) -> tuple[str, ...]:
        return (split_labels(label) if has_sets else ()) or (label,)

    labels = rows["label"].map(list_labels)
    findings: dict[Hashable, str] = {}
    numbers = rows["normal"].map(IDENTIFIER.findall)
    _add_recognised(findings, "the number", numbers.to_dict(), rows["split"], labels, split, before)
    for column in columns:
        values = rows[column].map(lambda value: [value] if value else [])
        _add_recognised(findings, column, values.to_dict(), rows["split"], labels, split, before)
    return rows.index.to_series().map(findings).astype(object)


def _add_recognised(
    findings: dict[Hashable, str],
    name: str,
    values: Values,
    splits: "pd.Series",
    labels: "pd.Series",
    split: str,
    before: Sequence[str],
) -> None:
    """Add the rows that `values` give away, if these are many and predict a label."""
    earlier = labels[splits.isin(before)]
    known = _learn_labels(values, earlier)
    ours = labels[splits == split]
    shared: dict[Hashable, str] = {}
    for row in ours.index:
        for value in values[row]:
            if value in known:
                shared[row] = value
    num_given = sum(len(values[row]) for row in earlier.index)
    num_labels = len(set(known.values()))
    if len(known) < max(MIN_VALUES, MIN_VALUES_EACH * num_labels):
        return
    if num_given > MAX_ROWS_EACH * len(known):
        return
    if len(shared) < max(1, MIN_SHARED * len(ours)):
        return
    own = ours[ours.index.isin(list(shared))]
    hits = [known[shared[row]] in each for row, each in own.items()]
    share = sum(hits) / len(hits)
    counts = Counter(label for each in own for label in each)
    usual = max(counts.values()) / len(own)
    if share < MIN_HITS or share - usual < MIN_LIFT * (1 - usual):
        return
    for row, value in shared.items():
        findings.setdefault(
            row, f"{name} {value!r} is in an earlier split; such values tell {share:.0%} of labels"
        )


def _learn_labels(values: Values, labels: "pd.Series") -> dict[str, str]:
    """Map each value to the label that it has most often."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, own in labels.items():
        for value in values[row]:
            counts[value].update(own)
    return {value: count.most_common(1)[0][0] for value, count in counts.items()}
