"""Words that nearly alone predict a label.

A word such as "routing" may well be nearly all of one class. Where such words cover much of the
data, they are more likely a trace of how the data were made.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_sets import ListLabels

MIN_PRECISION = 0.97  # of the rows with the word, this share has the label
MIN_RECALL = 0.8  # of the rows with the label, this share has the word
MIN_ROWS = 20
READ_TRAIN = "SELECT normal, label FROM rows WHERE split = 'train' AND {part}"


def find_label_words(rows: StoredRows, list_labels: ListLabels) -> dict[str, str]:
    """Map each word of train that nearly alone predicts a label to a sentence about the two."""
    num_texts = 0
    num_with: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for words, labels in _list_words(rows, list_labels):
        num_texts += 1
        num_with.update(words)
        sizes.update(labels)
    frequent = {word for word, count in num_with.items() if count >= MIN_ROWS}
    num_labelled: Counter[tuple[str, str]] = Counter()
    for words, labels in _list_words(rows, list_labels):
        for label in labels:
            num_labelled.update((word, label) for word in frequent & words)
    signs = {}
    for (word, label), count in num_labelled.items():
        if sizes[label] / num_texts >= MIN_PRECISION:
            continue  # nearly every row has this label, so that every word predicts it
        precision, recall = count / num_with[word], count / sizes[label]
        if count >= MIN_ROWS and precision >= MIN_PRECISION and recall >= MIN_RECALL:
            share = f"{recall:.0%} of the rows labelled {label!r}"
            signs[word] = f"{word!r} is in {share}; {precision:.0%} of its own rows have that label"
    return signs


def describe_label_words(signs: Mapping[str, str], text: str) -> str | None:
    """Return the sentence about the first word of a text that predicts a label, if it has one."""
    present = signs.keys() & text.split()
    return signs[min(present)] if present else None


def _list_words(
    rows: StoredRows, list_labels: ListLabels
) -> Iterator[tuple[set[str], tuple[str, ...]]]:
    """Yield the words and the labels of each row of train."""
    for batch in rows.read_parts(READ_TRAIN):
        texts, labels = batch["normal"].to_pylist(), batch["label"].to_pylist()
        for text, label in zip(texts, labels, strict=True):
            yield set(text.split()), list_labels(label)
