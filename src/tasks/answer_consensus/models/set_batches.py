"""Batches of states for the network: random sets of agents, a pure function of (seed, epoch)."""

import numpy as np
import torch
from torch.utils.data import Dataset

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
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


def build_batches(
    train: Tallies, validation: Tallies, config: SetConfig, seed: int
) -> EpochBatches:
    """Return batches of random sets of agents: new ones of each question in each epoch."""
    states = States([])

    def begin_epoch(epoch: int) -> list[int]:
        random = np.random.default_rng((seed, EPOCH_KEY, epoch))
        states.examples = draw_examples(train, config.subsets, random)
        random = np.random.default_rng((seed, EPOCH_KEY, epoch, 1))
        order: list[int] = random.permutation(len(states)).tolist()
        return order

    random = np.random.default_rng((seed, VALIDATION_KEY))
    held_out = States(draw_examples(validation, config.subsets, random))
    sampler = EpochSampler(config.batch_size, begin_epoch)
    return EpochBatches(states, sampler, held_out, VALIDATION_BATCH)
