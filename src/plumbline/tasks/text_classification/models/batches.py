"""Batches of texts of like length, a pure function of (seed, epoch): next to no padding, and no generator state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from plumbline.contract.errors import TrainingError

VALIDATION_BATCH = 128

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Texts:
    """The texts and labels of one split, in order."""

    texts: Sequence[str]
    labels: Sequence[str]


class Rows(Dataset[Batch]):
    """Tokenised texts: `names[0]` holds token ids, `names[1]` a number for each (a weight, or 1), padded with 0."""

    def __init__(
        self,
        names: tuple[str, str],
        ids: list[np.ndarray],
        values: list[np.ndarray],
        targets: np.ndarray,
    ) -> None:
        self.names, self.ids, self.values, self.targets = names, ids, values, targets
        self.lengths = np.array([len(row) for row in ids])

    def __len__(self) -> int:
        return len(self.ids)

    def __getitems__(self, rows: list[int]) -> Batch:
        """Tensors of shape (rows, tokens of the longest), and `labels` of shape (rows,)."""
        shape = (len(rows), int(self.lengths[rows].max()))
        ids, values = np.zeros(shape, np.int64), np.zeros(shape, self.values[0].dtype)
        for place, row in enumerate(rows):
            ids[place, : self.lengths[row]] = self.ids[row]
            values[place, : self.lengths[row]] = self.values[row]
        arrays = {self.names[0]: ids, self.names[1]: values, "labels": self.targets[rows]}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


class LengthBuckets(Sampler[list[int]]):
    """Batches of rows of like length, in random order; ties in length are broken anew each epoch."""

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = np.lexsort((random.random(len(self.lengths)), self.lengths))
        batches = [
            order[at : at + self.batch_size].tolist()
            for at in range(0, len(order), self.batch_size)
        ]
        return (batches[at] for at in random.permutation(len(batches)))


class Batches(L.LightningDataModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """The train and validation batches of one candidate."""

    def __init__(self, train: Rows, validation: Rows, batch_size: int, seed: int) -> None:
        super().__init__()
        self.train, self.validation = train, validation
        self.sampler = LengthBuckets(train.lengths, batch_size, seed)

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.train, batch_sampler=self.sampler, collate_fn=_as_it_is)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation rows, by length."""
        order = np.argsort(self.validation.lengths, kind="stable").tolist()
        batches = [
            order[at : at + VALIDATION_BATCH] for at in range(0, len(order), VALIDATION_BATCH)
        ]
        return DataLoader(self.validation, batch_sampler=batches, collate_fn=_as_it_is)


def targets(labels: Sequence[str], classes: list[str]) -> np.ndarray:
    """The index of each label among `classes`; TrainingError for one that the train split does not have."""
    index = {label: place for place, label in enumerate(classes)}
    unknown = sorted(set(labels) - set(index))
    if unknown:
        raise TrainingError(
            f"the validation split has labels that the train split has not: {', '.join(unknown[:5])}"
        )
    return np.array([index[label] for label in labels])


def _as_it_is(batch: Any) -> Any:
    return batch
