"""Batches of texts of similar length, a pure function of (seed, epoch).

There is little padding, and no generator state that a checkpoint would have to keep. A batch is
made when it is asked for, so what an epoch keeps in memory is one order of the rows.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from plumbline.tasks.text_classification.models.encoded_texts import Batch, EncodedTexts

VALIDATION_BATCH = 128


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
        return _count_batches(self.lengths, self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = np.lexsort((random.random(len(self.lengths)), self.lengths))
        return _iterate_batches(order, self.batch_size, random.permutation(len(self)))


class LengthOrderSampler(Sampler[list[int]]):
    """Batches of all rows, from the shortest row to the longest."""

    def __init__(self, lengths: np.ndarray, batch_size: int) -> None:
        self.lengths = lengths
        self.batch_size = batch_size

    def __len__(self) -> int:
        return _count_batches(self.lengths, self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.argsort(self.lengths, kind="stable")
        return _iterate_batches(order, self.batch_size, range(len(self)))


class TextDataModule:
    """The train and validation batches of one candidate."""

    def __init__(
        self, train: EncodedTexts, validation: EncodedTexts, batch_size: int, seed: int
    ) -> None:
        self.train = train
        self.validation = validation
        self.sampler = LengthBucketSampler(train.lengths, batch_size, seed)
        self._in_order = LengthOrderSampler(validation.lengths, VALIDATION_BATCH)

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.train, batch_sampler=self.sampler, collate_fn=_return_unchanged)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation rows, by length."""
        return DataLoader(
            self.validation, batch_sampler=self._in_order, collate_fn=_return_unchanged
        )


def _count_batches(lengths: np.ndarray, size: int) -> int:
    return -(-len(lengths) // size)


def _iterate_batches(order: np.ndarray, size: int, numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield the batches with these numbers, of those that `order` is cut into."""
    for number in numbers:
        yield order[number * size : (number + 1) * size].tolist()


def _return_unchanged(batch: Any) -> Any:
    return batch
