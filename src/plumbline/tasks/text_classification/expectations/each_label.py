"""Checks of labels where rows have sets of them: each label is asked about by itself."""

from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.data.label_sets import split_labels

if TYPE_CHECKING:
    import pandas as pd


def list_each_label(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row for each label of a row, with the index of the row; none for an empty set."""
    each = rows.assign(label=rows["label"].map(split_labels)).explode("label")
    return each[each["label"].notna()]


def join_findings(findings: "pd.Series", rows: "pd.DataFrame") -> "pd.Series":
    """Return the first finding about a label of each row, null for a row without one."""
    found = findings.dropna()
    first = found[~found.index.duplicated()]
    return rows.index.to_series().map(first.to_dict()).astype(object)


def count_labels(each: "pd.DataFrame", rows: "pd.DataFrame") -> "pd.Series":
    """Return for each row how many different labels its split has; `each` has one a row."""
    counts = each.groupby("split")["label"].nunique()
    return rows["split"].map(counts).fillna(0)
