"""Words that nearly alone predict a label.

A word such as "routing" may well be nearly all of one class. Where such words cover much of the
data, they are more likely a trace of how the data were made.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plumbline.contract.rows import RowBatches
from plumbline.tasks.text_classification.expectations.each_label import ListLabels, add_counts
from plumbline.tasks.text_classification.expectations.text_rows import select_splits

if TYPE_CHECKING:
    import pyarrow as pa

MIN_PRECISION = 0.97  # of the rows with the word, this share has the label
MIN_RECALL = 0.8  # of the rows with the label, this share has the word
MIN_ROWS = 20


def find_label_words(rows: RowBatches, list_labels: ListLabels) -> dict[str, str]:
    """Map each word of train that nearly alone predicts a label to a sentence about the two."""
    train = select_splits(rows, ["train"])
    sizes = train.fold(lambda batch: _count_words(batch, list_labels), _Sizes.add)
    frequent = {word for word, count in sizes.words.items() if count >= MIN_ROWS}

    def count_labelled(batch: "pa.RecordBatch") -> Counter[tuple[str, str]]:
        num_labelled: Counter[tuple[str, str]] = Counter()
        for words, labels in _list_words(batch, list_labels):
            for label in labels:
                num_labelled.update((word, label) for word in frequent & words)
        return num_labelled

    signs = {}
    for (word, label), count in train.fold(count_labelled, add_counts).items():
        if sizes.labels[label] / sizes.num_texts >= MIN_PRECISION:
            continue  # nearly every row has this label, so that every word predicts it
        precision, recall = count / sizes.words[word], count / sizes.labels[label]
        if count >= MIN_ROWS and precision >= MIN_PRECISION and recall >= MIN_RECALL:
            share = f"{recall:.0%} of the rows labelled {label!r}"
            signs[word] = f"{word!r} is in {share}; {precision:.0%} of its own rows have that label"
    return signs


def describe_label_words(signs: Mapping[str, str], text: str) -> str | None:
    """Return the sentence about the first word of a text that predicts a label, if it has one."""
    present = signs.keys() & text.split()
    return signs[min(present)] if present else None


@dataclass
class _Sizes:
    """How many texts there are, and how many of them have each word and each label."""

    num_texts: int = 0
    words: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, other: "_Sizes") -> "_Sizes":
        self.num_texts += other.num_texts
        self.words.update(other.words)
        self.labels.update(other.labels)
        return self


def _count_words(batch: "pa.RecordBatch", list_labels: ListLabels) -> _Sizes:
    sizes = _Sizes(batch.num_rows)
    for words, labels in _list_words(batch, list_labels):
        sizes.words.update(words)
        sizes.labels.update(labels)
    return sizes


def _list_words(
    batch: "pa.RecordBatch", list_labels: ListLabels
) -> Iterator[tuple[set[str], tuple[str, ...]]]:
    """Yield the words and the labels of each row."""
    texts, labels = batch["normal"].to_pylist(), batch["label"].to_pylist()
    for text, label in zip(texts, labels, strict=True):
        yield set(text.split()), list_labels(label)
