"""Batches of sequences: a pure function of (seed, epoch)."""

from collections.abc import Callable

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
from plumbline.contract.task import SPLITS
from tasks.sequence_bayes.data.prior import SequencePrior, draw_sequences
from tasks.sequence_bayes.params import NetworkConfig

VALIDATION_BATCH = 256

Batch = dict[str, torch.Tensor]
# From the history [B, T - 1] to what the network sees at each of T places.
Encode = Callable[[np.ndarray], torch.Tensor]


class Rows(Dataset[Batch]):
    """Sequences [N, T], as the network sees them, with the symbols that it has to predict."""

    def __init__(self, sequences: np.ndarray, encode: Encode) -> None:
        self.sequences = sequences
        self._encode = encode

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitems__(self, numbers: list[int]) -> Batch:
        """Return what the encoder gives for the histories, and symbols [B, T]."""
        picked = self.sequences[numbers]
        symbols = torch.from_numpy(picked.astype(np.int64))
        return {"inputs": self._encode(picked[:, :-1]), "symbols": symbols}


def build_batches(
    prior: SequencePrior,
    train: np.ndarray,
    validation: np.ndarray,
    encode: Encode,
    config: NetworkConfig,
    seed: int,
) -> EpochBatches:
    """Return batches of train rows in random order, or of new sequences from the generator.

    Ingest draws split n from (seed, n); an epoch's key has a number that no split has, so that none
    of its sequences is a held-out one.
    """
    size = config.sequences_per_epoch
    rows = Rows(train, encode)

    def begin_epoch(epoch: int) -> range:
        random = np.random.default_rng((seed, len(SPLITS), epoch))
        if config.fresh:
            rows.sequences = draw_sequences(prior, size, random)[0]
        else:
            picked = random.choice(len(train), min(size, len(train)), replace=False)
            rows.sequences = train[picked]
        return range(len(rows))

    sampler = EpochSampler(config.batch_size, begin_epoch)
    return EpochBatches(rows, sampler, Rows(validation, encode), VALIDATION_BATCH)
