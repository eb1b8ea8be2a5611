"""The batches of a training that may resume in the middle of an epoch, shared among processes."""

from typing import Any

import torch
from torch.utils.data import DataLoader

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
        batches = [_take_padded_share(batch) for batch in loader.batch_sampler]
        self.num_batches = len(batches)  # with those that are done
        return _replace_batches(loader, batches[self.state.batch :])

    def list_validation(self) -> "DataLoader[Any]":
        """Return this process's rows of the validation batches: each row is in one process."""
        loader = self.data.val_dataloader()
        shares = map(_take_share, loader.batch_sampler)
        batches = [share for share in shares if share]
        self.num_validation_rows = sum(map(len, batches))
        return _replace_batches(loader, batches)


def _replace_batches(loader: "DataLoader[Any]", batches: list[list[int]]) -> "DataLoader[Any]":
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
