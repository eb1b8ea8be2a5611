"""Batches of texts of similar length, a pure function of (seed, epoch).

There is little padding, and no generator state that a checkpoint would have to keep.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from plumbline.encoders.halves import Batch
from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts

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
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = np.lexsort((random.random(len(self.lengths)), self.lengths))
        batches = _cut_batches(order, self.batch_size)
        for number in random.permutation(len(batches)):
            yield batches[number].tolist()


class TextDataModule:
    """The train and validation batches of one candidate."""

    def __init__(
        self, train: EncodedTexts, validation: EncodedTexts, batch_size: int, seed: int
    ) -> None:
        self.train = train
        self.validation = validation
        self.sampler = LengthBucketSampler(train.lengths, batch_size, seed)

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.train, batch_sampler=self.sampler, collate_fn=_return_unchanged)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation rows, by length."""
        order = np.argsort(self.validation.lengths, kind="stable")
        batches = [batch.tolist() for batch in _cut_batches(order, VALIDATION_BATCH)]
        return DataLoader(self.validation, batch_sampler=batches, collate_fn=_return_unchanged)


def _cut_batches(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def _return_unchanged(batch: Any) -> Any:
    return batch
