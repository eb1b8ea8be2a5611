"""Batches of windows, or of consecutive chunks of them: a pure function of (seed, epoch)."""

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
from plumbline.contract.task import SPLITS
from tasks.signal_extraction.data.setting import draw_windows
from tasks.signal_extraction.data.windows import Windows
from tasks.signal_extraction.params import RecurrentConfig

VALIDATION_BATCH = 256

Batch = dict[str, torch.Tensor]


class Chunks(Dataset[Batch]):
    """Windows [M, L] of components [M, K, L] in chunks of T samples.

    Chunk c of window w has the number w * C + c.
    """

    def __init__(self, signals: np.ndarray, components: np.ndarray, chunk: int) -> None:
        self.chunk = chunk
        self.num_chunks = int(signals.shape[1]) // chunk
        self.fill(signals, components)

    def fill(self, signals: np.ndarray, components: np.ndarray) -> None:
        """Replace the windows."""
        self.signals = torch.from_numpy(np.ascontiguousarray(signals, np.float32))
        self.components = torch.from_numpy(np.ascontiguousarray(components, np.float32))

    def __len__(self) -> int:
        return len(self.signals) * self.num_chunks

    def __getitems__(self, numbers: list[int]) -> Batch:
        """Return signals [B, T], components [B, K, T], and which are first in their window [B]."""
        windows = [number // self.num_chunks for number in numbers]
        place = numbers[0] % self.num_chunks  # the same for all numbers of a batch
        part = slice(place * self.chunk, (place + 1) * self.chunk)
        first = torch.full((len(numbers),), place == 0)
        return {
            "signals": self.signals[windows, part],
            "components": self.components[windows, :, part],
            "first": first,
        }


def count_windows(train: Windows, config: RecurrentConfig) -> int:
    """Return how many windows an epoch has."""
    most = config.windows_per_epoch
    return most if config.fresh else min(most, len(train.signals))


def build_batches(
    train: Windows, validation: Windows, config: RecurrentConfig, chunk: int, seed: int
) -> EpochBatches:
    """Return batches of train windows in random order, or of windows from the generator.

    The chunks of a batch of windows follow each other, so that states can be carried over. Ingest
    draws split n from (seed, n); an epoch's key has a number that no split has, so that none of its
    windows is a held-out one.
    """
    size = count_windows(train, config)
    batch = min(config.batch_size, size)
    chunks = Chunks(train.signals[:size], train.components[:size], chunk)

    def begin_epoch(epoch: int) -> list[int]:
        random = np.random.default_rng((seed, len(SPLITS), epoch))
        if config.fresh:
            chunks.fill(*draw_windows(train.setting, size, random))
        else:
            picked = random.choice(len(train.signals), size, replace=False)
            chunks.fill(train.signals[picked], train.components[picked])
        windows = np.arange(size // batch * batch).reshape(-1, 1, batch)
        numbers = windows * chunks.num_chunks + np.arange(chunks.num_chunks)[:, None]
        order: list[int] = numbers.ravel().tolist()
        return order

    held_out = Chunks(validation.signals, validation.components, validation.setting.window)
    return EpochBatches(chunks, EpochSampler(batch, begin_epoch), held_out, VALIDATION_BATCH)
