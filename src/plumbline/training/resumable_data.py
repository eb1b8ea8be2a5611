"""The batches of a training that may resume in the middle of an epoch, shared among processes."""

from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch
from torch.utils.data import DataLoader

from plumbline.contract import ranks
from plumbline.contract.errors import TrainingError
from plumbline.training.checkpoint import TrainingState


class ResumableDataModule(L.LightningDataModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """Wraps a learner's data module: its first epoch starts at the batch that `state` names.

    The processes of torchrun share the rows of each batch, of train and of validation.
    """

    def __init__(self, data: Any, state: TrainingState) -> None:
        super().__init__()
        self.data = data
        self.state = state

    def train_dataloader(self) -> "DataLoader[Any]":
        """Return the remaining batches of the running epoch."""
        loader = self.data.train_dataloader()
        if hasattr(loader.batch_sampler, "set_epoch"):
            loader.batch_sampler.set_epoch(self.state.epoch)
        all_rows = list(loader.batch_sampler)
        _require_rows(all_rows, "raise batch_size")
        batches = [_select_own_rows(batch) for batch in all_rows]
        self.num_batches = len(batches)
        return _replace_batches(loader, batches[self.state.batch :])

    def val_dataloader(self) -> "DataLoader[Any]":
        """Return this process's rows of the validation batches: each row is in one process."""
        loader = self.data.val_dataloader()
        all_rows = list(loader.batch_sampler)
        _require_rows(all_rows, "give validation more rows")
        own = [batch[ranks.get_rank() :: ranks.get_world_size()] for batch in all_rows]
        batches = [batch for batch in own if batch]
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


def _require_rows(batches: list[list[int]], remedy: str) -> None:
    """Raise TrainingError where even the largest batch leaves a process without rows of its own."""
    num_rows = max(map(len, batches), default=0)
    if num_rows < ranks.get_world_size():
        raise TrainingError(
            f"batches of {num_rows} rows cannot be shared by {ranks.get_world_size()} processes; "
            f"{remedy}, or lower training.processes"
        )


def _select_own_rows(batch: list[int]) -> list[int]:
    """Return this process's rows of a batch.

    If the batch cannot be divided evenly, its first rows are taken twice.
    """
    world_size = ranks.get_world_size()
    padding = [batch[i % len(batch)] for i in range(-len(batch) % world_size)]
    return (batch + padding)[ranks.get_rank() :: world_size]
