"""Batches of windows, or of consecutive chunks of them: a pure function of (seed, epoch)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from plumbline.contract.task import SPLITS
from tasks.signal_extraction.data import Windows
from tasks.signal_extraction.data.generators import draw_windows
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


class WindowSampler(Sampler[list[int]]):
    """The batches of one epoch: train windows in random order, or windows from the generator.

    The chunks of a batch of windows follow each other, so that states can be carried over. Ingest
    draws split n from (seed, n); an epoch's key has a number that no split has, so that none of its
    windows is a held-out one.
    """

    def __init__(self, train: Windows, config: RecurrentConfig, chunk: int, seed: int) -> None:
        self._train = train
        self._config = config
        self._seed = seed
        self.size = config.windows_per_epoch
        if not config.fresh:
            self.size = min(self.size, len(train.signals))
        self.batch: int = min(config.batch_size, self.size)
        self.chunks = Chunks(train.signals[: self.size], train.components[: self.size], chunk)
        self._filled: int | None = None
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next, and its windows."""
        self.epoch = epoch
        if self._filled != epoch:
            random = np.random.default_rng((self._seed, len(SPLITS), epoch))
            self.chunks.fill(*self._draw_epoch(random))
            self._filled = epoch

    def __len__(self) -> int:
        return self.size // self.batch * self.chunks.num_chunks

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches of equal size; what is left over waits for another epoch."""
        num_chunks = self.chunks.num_chunks
        for at in range(0, self.size - self.batch + 1, self.batch):
            for place in range(num_chunks):
                yield [window * num_chunks + place for window in range(at, at + self.batch)]

    def _draw_epoch(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self._config.fresh:
            return draw_windows(self._train.setting, self.size, random)
        picked = random.choice(len(self._train.signals), self.size, replace=False)
        return self._train.signals[picked], self._train.components[picked]


class Batches:
    """The train and validation batches of one candidate."""

    def __init__(
        self,
        train: Windows,
        validation: Windows,
        config: RecurrentConfig,
        chunk: int,
        seed: int,
    ) -> None:
        self.sampler = WindowSampler(train, config, chunk, seed)
        self.validation = Chunks(
            validation.signals, validation.components, validation.setting.window
        )

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.sampler.chunks, batch_sampler=self.sampler, collate_fn=_keep_batch)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation windows, whole."""
        return DataLoader(self.validation, batch_size=VALIDATION_BATCH, collate_fn=_keep_batch)


def _keep_batch(batch: Any) -> Any:
    return batch
