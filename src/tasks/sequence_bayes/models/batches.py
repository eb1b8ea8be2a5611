"""Batches of sequences: a pure function of (seed, epoch)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from plumbline.contract.task import SPLITS
from tasks.sequence_bayes.data import SequencePrior
from tasks.sequence_bayes.data.generators import draw_sequences
from tasks.sequence_bayes.params import NetworkConfig

VALIDATION_BATCH = 256

Batch = dict[str, torch.Tensor]
# From the history [B, T - 1] to what the network sees at each of T places.
Encode = Callable[[np.ndarray], torch.Tensor]


class Rows(Dataset[Batch]):
    """Sequences [N, T], as the network sees them, with the symbols that it has to predict."""

    def __init__(self, sequences: np.ndarray, encode: Encode) -> None:
        self._encode = encode
        self.fill(sequences)

    def fill(self, sequences: np.ndarray) -> None:
        """Replace the sequences."""
        self.sequences = sequences

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitems__(self, numbers: list[int]) -> Batch:
        """Return what the encoder gives for the histories, and symbols [B, T]."""
        picked = self.sequences[numbers]
        symbols = torch.from_numpy(picked.astype(np.int64))
        return {"inputs": self._encode(picked[:, :-1]), "symbols": symbols}


class SequenceSampler(Sampler[list[int]]):
    """The batches of one epoch: train rows in random order, or sequences from the generator.

    Ingest draws split n from (seed, n); an epoch's key has a number that no split has, so that none
    of its sequences is a held-out one.
    """

    def __init__(
        self,
        prior: SequencePrior,
        train: np.ndarray,
        encode: Encode,
        config: NetworkConfig,
        seed: int,
    ) -> None:
        self._prior, self._train = prior, train
        self._fresh = config.fresh
        self._seed = seed
        self.size = config.sequences_per_epoch
        if not config.fresh:
            self.size = min(self.size, len(train))
        self.batch: int = min(config.batch_size, self.size)
        self.rows = Rows(train[: self.size], encode)
        self._filled: int | None = None
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next, and its sequences."""
        self.epoch = epoch
        if self._filled != epoch:
            random = np.random.default_rng((self._seed, len(SPLITS), epoch))
            self.rows.fill(self._draw_epoch(random))
            self._filled = epoch

    def __len__(self) -> int:
        return self.size // self.batch

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches of equal size; what is left over waits for another epoch."""
        for at in range(0, self.size - self.batch + 1, self.batch):
            yield list(range(at, at + self.batch))

    def _draw_epoch(self, random: np.random.Generator) -> np.ndarray:
        if self._fresh:
            return draw_sequences(self._prior, self.size, random)[0]
        return self._train[random.choice(len(self._train), self.size, replace=False)]


class SequenceBatches:
    """The train and validation batches of one candidate."""

    def __init__(self, sampler: SequenceSampler, validation: Rows) -> None:
        self.sampler = sampler
        self.validation = validation

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.sampler.rows, batch_sampler=self.sampler, collate_fn=_keep_batch)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation sequences."""
        return DataLoader(self.validation, batch_size=VALIDATION_BATCH, collate_fn=_keep_batch)


def _keep_batch(batch: Any) -> Any:
    return batch
