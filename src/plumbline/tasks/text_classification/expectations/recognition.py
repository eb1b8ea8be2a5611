"""Groups that nobody named: values that come back in held-out splits with the label they had.

A model can then recognise a customer instead of understanding the case, and a score says nothing
about customers to come.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

# Three digits or more in a word: prices and years are like that too, but do not predict a label.
IDENTIFIER = re.compile(r"(?<![^\W_])[^\W\d_]*+(?:\d[^\W\d_]*+){3,}+")
MIN_VALUES = 20  # fewer are categories, such as channels or products
MAX_ROWS_EACH = 30  # on average; a value with more is a kind of case, not a customer
MIN_VALUES_EACH = 3  # of a label, on average; fewer are codes of the label, not customers
MIN_SHARED = 0.05  # of the held-out rows, this share has a value of an earlier split
MIN_HITS = 0.9  # of these rows, this share has the label that the value had there
MIN_LIFT = 0.5  # and of what the most frequent label leaves, the value gains this share


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

    label_lists = {}
    for label in rows["label"].unique():
        label_lists[label] = (split_labels(label) if has_sets else ()) or (label,)
    labels = rows["label"].map(label_lists)
    is_earlier = rows["split"].isin(before)
    is_ours = rows["split"] == split
    findings: dict[Hashable, str] = {}
    known = _find_numbers(rows.loc[is_earlier, "normal"])
    asked = _find_numbers(rows.loc[is_ours, "normal"])
    _add_recognised(findings, "the number", known, asked, labels, is_ours.sum())
    for column in columns:
        has_value = rows[column] != ""
        known = rows.loc[is_earlier & has_value, column]
        asked = rows.loc[is_ours & has_value, column]
        _add_recognised(findings, column, known, asked, labels, is_ours.sum())
    return rows.index.to_series().map(findings).astype(object)


def _find_numbers(texts: "pd.Series") -> "pd.Series":
    """Return the numbers in each text, one an entry, with the index of the text."""
    return texts.map(IDENTIFIER.findall).explode().dropna()


def _add_recognised(
    findings: dict[Hashable, str],
    name: str,
    known: "pd.Series",
    asked: "pd.Series",
    labels: "pd.Series",
    num_rows: int,
) -> None:
    """Add the rows that values give away, if these are many and predict a label.

    `known` and `asked` have a value an entry, with the index of its row, `labels` one entry a row,
    of all; `num_rows` may have values in `asked`.
    """
    num_values = known.nunique()
    if num_values < MIN_VALUES or len(known) > MAX_ROWS_EACH * num_values:
        return
    found = asked[asked.isin(known)]
    shared = dict(zip(found.index, found, strict=True))  # of several values the last one
    if len(shared) < max(1, MIN_SHARED * num_rows):
        return
    learned = _learn_labels(known, labels)
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


def _learn_labels(values: "pd.Series", labels: "pd.Series") -> dict[str, str]:
    """Map each value to the label that it has most often."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for value, own in zip(values, labels.loc[values.index], strict=True):
        counts[value].update(own)
    return {value: count.most_common(1)[0][0] for value, count in counts.items()}
