"""Batches of specifications and designs: a pure function of (seed, epoch)."""

from collections.abc import Mapping

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
from tasks.filter_design.params import LadderNetworkConfig

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


def build_batches(
    train: TensorRows, validation: TensorRows, config: LadderNetworkConfig, seed: int
) -> EpochBatches:
    """Return `steps_per_epoch` batches of rows in random order, as often as that takes."""
    num_rows = len(train)
    batch = min(config.batch_size, num_rows)
    size = batch * config.steps_per_epoch

    def begin_epoch(epoch: int) -> list[int]:
        random = np.random.default_rng((seed, epoch))
        orders = [random.permutation(num_rows) for _ in range(-(-size // num_rows))]
        order: list[int] = np.concatenate(orders)[:size].tolist()
        return order

    return EpochBatches(train, EpochSampler(batch, begin_epoch), validation, VALIDATION_BATCH)
