"""The labels of a row: one, or where rows have sets of labels, each of them by itself."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from plumbline.contract.rows import RowBatches
from plumbline.tasks.text_classification.data.label_sets import split_labels

if TYPE_CHECKING:
    import pyarrow as pa

Value = TypeVar("Value")
ListLabels = Callable[[str], tuple[str, ...]]  # of what a row has in its column `label`


def choose_list_labels(has_sets: bool) -> ListLabels:
    """Return the function that lists the labels of a row; of an empty set there are none."""
    return split_labels if has_sets else list_one_label


def list_one_label(label: str) -> tuple[str, ...]:
    """Return the label of a row that has one."""
    return (label,)


def count_labels(rows: RowBatches, list_labels: ListLabels) -> Counter[tuple[str, str]]:
    """Return how many rows have each (split, label), as they are met."""

    def count(batch: "pa.RecordBatch") -> Counter[tuple[str, str]]:
        own = Counter(zip(batch["split"].to_pylist(), batch["label"].to_pylist(), strict=True))
        sizes: Counter[tuple[str, str]] = Counter()
        for (split, label), size in own.items():
            for each in list_labels(label):
                sizes[split, each] += size
        return sizes

    return rows.fold(count, add_counts)


def add_counts(one: Counter[Value], other: Counter[Value]) -> Counter[Value]:
    """Add to `one` what `other` counted, and return it."""
    one.update(other)
    return one


def find_first_finding(findings: Mapping[str, str], labels: tuple[str, ...]) -> str | None:
    """Return what was found about the first of a row's labels that anything was found of."""
    return next((findings[label] for label in labels if label in findings), None)
