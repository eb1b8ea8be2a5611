"""The batches of a training that may resume in the middle of an epoch, shared among processes."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch.utils.data import DataLoader, Sampler

from plumbline.process import ranks
from plumbline.training.checkpoint import TrainingState


class SharedBatches:
    """The loaders of a learner's data; the first epoch starts at the batch that `state` names.

    The processes of torchrun share the rows of each batch, of train and of validation.
    """

    def __init__(self, data: Any, state: TrainingState) -> None:
        self.data = data
        self.state = state

    def list_train(self) -> "DataLoader[Any]":
        """Return the remaining batches of the running epoch."""
        loader = self.data.train_dataloader()
        if hasattr(loader.batch_sampler, "set_epoch"):
            loader.batch_sampler.set_epoch(self.state.epoch)
        own = OwnRows(loader.batch_sampler, _take_padded_share, self.state.batch)
        self.num_batches = own.num_batches
        return _replace_batches(loader, own)

    def list_validation(self) -> "DataLoader[Any]":
        """Return this process's rows of the validation batches: each row is in one process."""
        loader = self.data.val_dataloader()
        own = OwnRows(loader.batch_sampler, _take_share)
        self.num_validation_rows = own.num_rows
        return _replace_batches(loader, own)


class OwnRows(Sampler[list[int]]):
    """This process's rows of each batch, selected when the batch is asked for.

    `batches` are the same whenever they are iterated. Those without rows of this process are left
    out, and so are the first `num_done`.
    """

    def __init__(
        self,
        batches: Iterable[list[int]],
        select: Callable[[list[int]], list[int]],
        num_done: int = 0,
    ) -> None:
        self._batches = batches
        self._select = select
        self._num_done = num_done
        self.num_batches = 0  # with those that are done
        self.num_rows = 0
        for batch in batches:
            num_own = len(select(batch))
            self.num_batches += num_own > 0
            self.num_rows += num_own

    def __len__(self) -> int:
        return self.num_batches - self._num_done

    def __iter__(self) -> Iterator[list[int]]:
        own = filter(None, map(self._select, self._batches))
        return islice(own, self._num_done, None)


def _replace_batches(loader: "DataLoader[Any]", batches: OwnRows) -> "DataLoader[Any]":
    return DataLoader(
        loader.dataset,
        batch_sampler=batches,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        pin_memory=torch.cuda.is_available(),
    )


def _take_padded_share(batch: list[int]) -> list[int]:
    """Return this process's rows of a batch.

    If the batch cannot be divided evenly, its first rows are repeated until it can: the processes
    wait for each other at each batch.
    """
    world_size = ranks.get_world_size()
    padding = [batch[i % len(batch)] for i in range(-len(batch) % world_size)]
    return (batch + padding)[ranks.get_rank() :: world_size]


def _take_share(batch: list[int]) -> list[int]:
    """Return this process's rows of a batch, of which each row is in one process."""
    return batch[ranks.get_rank() :: ranks.get_world_size()]
