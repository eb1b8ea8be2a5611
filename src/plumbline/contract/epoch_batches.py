"""Batches for a Learner whose rows and order follow from the number of the epoch alone."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.utils.data import DataLoader, Dataset, Sampler


class EpochSampler(Sampler[list[int]]):
    """Batches of equal size of an epoch's rows; what is left over waits for another epoch.

    `begin_epoch` makes the rows of an epoch, and returns the order in which they are read.
    """

    def __init__(self, batch_size: int, begin_epoch: Callable[[int], Sequence[int]]) -> None:
        self._begin_epoch = begin_epoch
        self._epoch = 0
        self._order = begin_epoch(0)
        self._batch = min(batch_size, len(self._order))

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._begin_epoch(epoch)

    def __len__(self) -> int:
        return len(self._order) // self._batch

    def __iter__(self) -> Iterator[list[int]]:
        for at in range(0, len(self) * self._batch, self._batch):
            yield list(self._order[at : at + self._batch])


class EpochBatches:
    """The train and validation batches of a network; a dataset answers a list of rows at once."""

    def __init__(
        self, train: Dataset[Any], sampler: EpochSampler, validation: Dataset[Any], size: int
    ) -> None:
        self._train = train
        self.sampler = sampler
        self._validation = validation
        self._size = size  # of a batch of validation rows

    def train_dataloader(self) -> "DataLoader[Any]":
        """The batches of the sampler's epoch."""
        return DataLoader(self._train, batch_sampler=self.sampler, collate_fn=_keep_batch)

    def val_dataloader(self) -> "DataLoader[Any]":
        """All validation rows."""
        return DataLoader(self._validation, batch_size=self._size, collate_fn=_keep_batch)


def _keep_batch(batch: Any) -> Any:
    return batch
