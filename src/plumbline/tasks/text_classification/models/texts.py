"""The splits that a candidate learns from, read from their files a few texts at a time."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plumbline.contract.errors import TrainingError
from plumbline.tasks.text_classification.data.label_sets import choose_list_labels
from plumbline.tasks.text_classification.data.storage import (
    count_rows,
    has_label_sets,
    read_batches,
)


@dataclass(frozen=True)
class LabelledTexts:
    """The texts and labels of one split, in order; read from its files at each request.

    What stays in memory are counts.
    """

    examples: Path
    split: str
    has_sets: bool  # a label is the text of a set of labels
    num_rows: int
    label_counts: Counter[str]  # rows that have each label; those of sets one by one

    def iterate_texts(self) -> Iterator[list[str]]:
        """Yield some texts at a time."""
        for batch in read_batches(self.examples, self.split, ["text"]):
            yield batch["text"].to_pylist()

    def iterate_rows(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield some texts and their labels at a time."""
        for batch in read_batches(self.examples, self.split, ["text", "label"]):
            yield batch["text"].to_pylist(), batch["label"].to_pylist()


@dataclass(frozen=True)
class TrainingTexts:
    """The two splits that a candidate learns from, and the sorted class names of the first."""

    train: LabelledTexts
    validation: LabelledTexts
    classes: list[str]
    max_chars: int  # at which ingest cut them


def read_training_texts(examples: Path, max_chars: int) -> TrainingTexts:
    """Return the splits in `examples`; TrainingError for a label that only validation has."""
    train = _count_labels(examples, "train")
    validation = _count_labels(examples, "validation")
    unknown = sorted(validation.label_counts.keys() - train.label_counts.keys())
    if unknown:
        raise TrainingError(
            "the validation split has labels that the train split does not have: "
            + ", ".join(unknown[:5])
        )
    return TrainingTexts(train, validation, sorted(train.label_counts), max_chars)


def _count_labels(examples: Path, split: str) -> LabelledTexts:
    has_sets = has_label_sets(examples, split)
    list_labels = choose_list_labels(has_sets)
    counts: Counter[str] = Counter()
    for batch in read_batches(examples, split, ["label"]):
        for text, num_rows in Counter(batch["label"].to_pylist()).items():
            for label in list_labels(text):
                counts[label] += num_rows
    return LabelledTexts(examples, split, has_sets, count_rows(examples, split), counts)
