"""Batches of texts of similar length, a pure function of (seed, epoch).

There is little padding, and no generator state that a checkpoint would have to keep.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from plumbline.contract.errors import TrainingError
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.models.label_decisions import encode_sets

VALIDATION_BATCH = 128

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class LabelledTexts:
    """The texts and labels of one split, in order."""

    texts: Sequence[str]
    labels: Sequence[str]
    has_sets: bool = False  # a label is the text of a set of labels

    def list_classes(self) -> set[str]:
        """Return the labels that rows have, those of sets one by one."""
        distinct = set(self.labels)
        if not self.has_sets:
            return distinct
        return {label for labels in distinct for label in split_labels(labels)}


@dataclass(frozen=True)
class TrainingTexts:
    """The two splits that a candidate learns from, and the sorted class names of the first."""

    train: LabelledTexts
    validation: LabelledTexts
    classes: list[str]
    max_chars: int  # at which ingest cut them


class EncodedTexts(Dataset[Batch]):
    """Texts as arrays of token ids (`names[0]`) and of a number for each id (`names[1]`)."""

    def __init__(
        self,
        names: tuple[str, str],
        ids: list[np.ndarray],
        values: list[np.ndarray],
        targets: np.ndarray,
    ) -> None:
        self.names = names
        self.ids = ids
        self.values = values
        self.targets = targets
        self.lengths = np.array([len(row) for row in ids])
        # (rows, members), float32: how much each member of an ensemble learns from a row.
        self.row_weights: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __getitems__(self, rows: list[int]) -> Batch:
        """Tensors of shape (rows, tokens of the longest), padded with 0, and `labels` (rows,).

        Of sets, `labels` are (rows, classes), float32. Where rows have weights, also `row_weights`
        (rows, members).
        """
        shape = (len(rows), int(self.lengths[rows].max()))
        ids = np.zeros(shape, np.int64)
        values = np.zeros(shape, self.values[0].dtype)
        for position, row in enumerate(rows):
            length = self.lengths[row]
            ids[position, :length] = self.ids[row]
            values[position, :length] = self.values[row]
        batch = {
            self.names[0]: torch.from_numpy(ids),
            self.names[1]: torch.from_numpy(values),
            "labels": torch.from_numpy(self.targets[rows]),
        }
        if self.row_weights is not None:
            batch["row_weights"] = torch.from_numpy(self.row_weights[rows])
        return batch


class LengthBucketSampler(Sampler[list[int]]):
    """Batches of rows of similar length, in random order; each epoch breaks ties in its own way."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = np.lexsort((random.random(len(self.lengths)), self.lengths))
        batches = _split_evenly(order.tolist(), self.batch_size)
        return iter([batches[index] for index in random.permutation(len(batches))])


class TextDataModule(L.LightningDataModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """The train and validation batches of one candidate."""

    def __init__(
        self, train: EncodedTexts, validation: EncodedTexts, batch_size: int, seed: int
    ) -> None:
        super().__init__()
        self.train = train
        self.validation = validation
        self.sampler = LengthBucketSampler(train.lengths, batch_size, seed)

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.train, batch_sampler=self.sampler, collate_fn=_return_unchanged)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation rows, by length."""
        order = np.argsort(self.validation.lengths, kind="stable").tolist()
        batches = _split_evenly(order, VALIDATION_BATCH)
        return DataLoader(self.validation, batch_sampler=batches, collate_fn=_return_unchanged)


def encode_labels(split: LabelledTexts, classes: list[str]) -> np.ndarray:
    """Return the index of each label among `classes`, the labels of the train split.

    Of sets, ones where a row has the label (rows, classes), float32. Raises TrainingError for a
    label that is not among them.
    """
    index = {label: number for number, label in enumerate(classes)}
    unknown = sorted(split.list_classes() - set(index))
    if unknown:
        raise TrainingError(
            "the validation split has labels that the train split does not have: "
            + ", ".join(unknown[:5])
        )
    if not split.has_sets:
        return np.array([index[label] for label in split.labels])
    return encode_sets([split_labels(labels) for labels in split.labels], classes)


def _split_evenly(rows: list[int], size: int) -> list[list[int]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _return_unchanged(batch: Any) -> Any:
    return batch
