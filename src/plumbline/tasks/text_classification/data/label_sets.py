"""Rows with several labels: the labels of a row as one text, and back.

A set is written in one way only, so that rows with equal labels have equal texts. Whatever asks
whether two labels are equal (copies, right answers, parity, drift) then holds for sets too.
`predictor.py` has a copy of both signs, since it imports nothing of plumbline; a test compares
them.
"""

import json
from collections.abc import Callable, Iterable, Sequence

import numpy as np

SEPARATOR = "|"
NO_LABEL = "(none)"  # how the empty set is written
ListLabels = Callable[[str], tuple[str, ...]]  # of what a row has in its column `label`


def join_labels(labels: Iterable[str]) -> str:
    """Return the text of a set of labels: sorted, each of them once."""
    return SEPARATOR.join(sorted(set(labels))) or NO_LABEL


def split_labels(text: str) -> tuple[str, ...]:
    """Return the labels of a set that `join_labels` wrote."""
    return () if text == NO_LABEL else tuple(text.split(SEPARATOR))


def choose_list_labels(has_sets: bool) -> ListLabels:
    """Return the function that lists the labels of a row; of an empty set there are none."""
    return split_labels if has_sets else list_one_label


def list_one_label(label: str) -> tuple[str, ...]:
    """Return the label of a row that has one."""
    return (label,)


def serialize_labels(text: str) -> str:
    """Return the labels of a set as JSON: who reads a manifest need not know how a set is written.

    `text` is what `join_labels` wrote.
    """
    return json.dumps(split_labels(text), ensure_ascii=False)


def mark_labels(label_sets: Sequence[Iterable[str]], names: Sequence[str]) -> np.ndarray:
    """Return which of the labels `names` each row has [N, len(names)]; others are left out."""
    index = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(label_sets), len(names)), bool)
    for row, labels in enumerate(label_sets):
        flags[row, [index[label] for label in labels if label in index]] = True
    return flags
