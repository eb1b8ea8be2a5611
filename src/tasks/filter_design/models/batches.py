"""Batches of specifications and designs: a pure function of (seed, epoch)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

Batch = dict[str, torch.Tensor]
VALIDATION_BATCH = 1024


class TensorRows(Dataset[Batch]):
    """Tensors of equal length, by name."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self._tensors = tensors

    def __len__(self) -> int:
        return len(next(iter(self._tensors.values())))

    def __getitems__(self, numbers: list[int]) -> Batch:
        """Return the rows of these numbers, of each tensor."""
        chosen = torch.tensor(numbers)
        return {name: tensor[chosen] for name, tensor in self._tensors.items()}


class StepSampler(Sampler[list[int]]):
    """A fixed number of batches an epoch: rows in random order, as often as that takes."""

    def __init__(self, num_rows: int, batch_size: int, num_steps: int, seed: int) -> None:
        self._num_rows = num_rows
        self._batch = min(batch_size, num_rows)
        self._steps = num_steps
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches of equal size."""
        random = np.random.default_rng((self._seed, self._epoch))
        size = self._batch * self._steps
        rounds = -(-size // self._num_rows)
        orders = np.concatenate([random.permutation(self._num_rows) for _ in range(rounds)])
        for at in range(0, size, self._batch):
            yield orders[at : at + self._batch].tolist()


class FilterBatches:
    """The train and validation batches of one candidate."""

    def __init__(self, sampler: StepSampler, train: TensorRows, validation: TensorRows) -> None:
        self.sampler = sampler
        self._train = train
        self._validation = validation

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self._train, batch_sampler=self.sampler, collate_fn=_keep_batch)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation rows."""
        size = VALIDATION_BATCH
        return DataLoader(self._validation, batch_size=size, collate_fn=_keep_batch)


def _keep_batch(batch: Any) -> Any:
    return batch
