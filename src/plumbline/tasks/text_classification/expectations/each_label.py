"""The labels of a row: one, or where rows have sets of labels, each of them by itself."""

from collections import Counter
from collections.abc import Callable, Mapping

from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_sets import split_labels

ListLabels = Callable[[str], tuple[str, ...]]  # of what a row has in its column `label`
COUNT_LABELS = 'SELECT split, label, count(*) FROM rows GROUP BY ALL ORDER BY min("#row")'


def choose_list_labels(has_sets: bool) -> ListLabels:
    """Return the function that lists the labels of a row; of an empty set there are none."""
    return split_labels if has_sets else list_one_label


def list_one_label(label: str) -> tuple[str, ...]:
    """Return the label of a row that has one."""
    return (label,)


def count_labels(rows: StoredRows, list_labels: ListLabels) -> Counter[tuple[str, str]]:
    """Return how many rows have each (split, label), as they are met."""
    sizes: Counter[tuple[str, str]] = Counter()
    for split, label, size in rows.query(COUNT_LABELS).itertuples(index=False, name=None):
        for each in list_labels(label):
            sizes[split, each] += size
    return sizes


def find_first_finding(findings: Mapping[str, str], labels: tuple[str, ...]) -> str | None:
    """Return what was found about the first of a row's labels that anything was found of."""
    return next((findings[label] for label in labels if label in findings), None)
