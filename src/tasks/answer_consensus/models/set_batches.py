"""Batches of states for the network: random sets of agents, a pure function of (seed, epoch)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from tasks.answer_consensus.models.subsets import Example, draw_examples
from tasks.answer_consensus.models.tallies import Tallies
from tasks.answer_consensus.params import SetConfig
from tasks.answer_consensus.predictor import State, describe_state

VALIDATION_BATCH = 512
EPOCH_KEY, VALIDATION_KEY = 2, 3  # of the random numbers, beside those of other candidates

Batch = dict[str, torch.Tensor]


class States(Dataset[Batch]):
    """States of questions, described when they are asked for."""

    def __init__(self, examples: list[Example]) -> None:
        self.examples = examples
        self._described: dict[State, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, numbers: list[int]) -> Batch:
        """Return features [B, E, F], which elements exist [B, E], and which is right [B]."""
        chosen = [self.examples[number] for number in numbers]
        described = [self._describe(state) for state, _ in chosen]
        most = max(len(features) for features in described)
        features = np.zeros((len(chosen), most, described[0].shape[1]), np.float32)
        mask = np.zeros((len(chosen), most), bool)
        for row, one in enumerate(described):
            features[row, : len(one)] = one
            mask[row, : len(one)] = True
        return {
            "features": torch.from_numpy(features),
            "mask": torch.from_numpy(mask),
            "right": torch.tensor([place for _, place in chosen]),
        }

    def _describe(self, state: State) -> np.ndarray:
        if state not in self._described:
            self._described[state] = describe_state(state)
        return self._described[state]


class StateSampler(Sampler[list[int]]):
    """The batches of one epoch: new sets of agents for each question, in random order."""

    def __init__(self, train: Tallies, config: SetConfig, seed: int) -> None:
        self._train = train
        self._config = config
        self._seed = seed
        self.states = States(self._draw(0))
        self._filled = 0
        self.batch = min(config.batch_size, len(self.states))
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next, and its sets of agents."""
        self.epoch = epoch
        if self._filled != epoch:
            self.states.examples = self._draw(epoch)
            self._filled = epoch

    def __len__(self) -> int:
        return len(self.states) // self.batch

    def __iter__(self) -> Iterator[list[int]]:
        """Yield batches of equal size; what is left over waits for another epoch."""
        random = np.random.default_rng((self._seed, EPOCH_KEY, self.epoch, 1))
        order = random.permutation(len(self.states)).tolist()
        for at in range(0, len(order) - self.batch + 1, self.batch):
            yield order[at : at + self.batch]

    def _draw(self, epoch: int) -> list[Example]:
        random = np.random.default_rng((self._seed, EPOCH_KEY, epoch))
        return draw_examples(self._train, self._config.subsets, random)


class SetBatches:
    """The train and validation batches of one network."""

    def __init__(self, train: Tallies, validation: Tallies, config: SetConfig, seed: int) -> None:
        self.sampler = StateSampler(train, config, seed)
        random = np.random.default_rng((seed, VALIDATION_KEY))
        self.validation = States(draw_examples(validation, config.subsets, random))

    def train_dataloader(self) -> "DataLoader[Batch]":
        """The batches of the sampler's epoch."""
        return DataLoader(self.sampler.states, batch_sampler=self.sampler, collate_fn=_keep_batch)

    def val_dataloader(self) -> "DataLoader[Batch]":
        """All validation states."""
        return DataLoader(self.validation, batch_size=VALIDATION_BATCH, collate_fn=_keep_batch)


def _keep_batch(batch: Any) -> Any:
    return batch
