"""Conditional diffusion on designs that meet their masks."""

import numpy as np
import torch
from torch.func import functional_call

from tasks.filter_design.models.batches import Batch
from tasks.filter_design.models.layers import AverageWeights, Layers
from tasks.filter_design.models.proposer import ProposerModule
from tasks.filter_design.params import DiffusionConfig
from tasks.filter_design.predictor.networks import (
    NUM_COORDINATES,
    NUM_FREQUENCIES,
    compute_signal,
    embed_time,
)

NUM_TIMES = 1000  # from which training draws
TIMES = np.arange(1, NUM_TIMES + 1) / NUM_TIMES


class DiffusionModule(ProposerModule):
    """Predicts the noise in coordinates (Ho, Jain and Abbeel 2020, arXiv:2006.11239)."""

    powers: torch.Tensor
    embeddings: torch.Tensor
    num_steps: torch.Tensor

    def __init__(self, config: DiffusionConfig, num_features: int) -> None:
        super().__init__(config)
        num_inputs = num_features + NUM_COORDINATES + 2 * NUM_FREQUENCIES
        self.model = Layers(num_inputs, config.hidden, config.layers, NUM_COORDINATES)
        self.average = AverageWeights(self.model, config.average)
        self.register_buffer("num_steps", torch.tensor(0))
        powers = torch.tensor([compute_signal(time) for time in TIMES.tolist()])
        self.register_buffer("powers", powers, persistent=False)
        self.register_buffer("embeddings", torch.from_numpy(embed_time(TIMES)), persistent=False)

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean squared error of the predicted noise."""
        # The weights of the step before: a checkpoint is written between the two.
        self.average.update(self.model, int(self.num_steps))
        self.num_steps += 1
        times = torch.randint(NUM_TIMES, (len(batch["features"]),))
        noise = torch.randn_like(batch["coordinates"])
        return self._compute_errors(dict(self.model.named_parameters()), batch, times, noise).mean()

    def measure(self, batch: Batch, generator: torch.Generator) -> torch.Tensor:
        """Return the squared error of each row, by the averaged weights [B]."""
        shape = batch["coordinates"].shape
        times = torch.randint(NUM_TIMES, (shape[0],), generator=generator)
        noise = torch.randn(shape, generator=generator)
        return self._compute_errors(self.list_weights(), batch, times, noise)

    def list_weights(self) -> dict[str, torch.Tensor]:
        """Return the averaged weights."""
        return self.average.list_weights()

    def _compute_errors(
        self,
        weights: dict[str, torch.Tensor],
        batch: Batch,
        times: torch.Tensor,
        noise: torch.Tensor,
    ) -> torch.Tensor:
        power = self.powers[times][:, None]
        state = power.sqrt() * batch["coordinates"] + (1 - power).sqrt() * noise
        inputs = torch.cat([batch["features"], state, self.embeddings[times]], dim=1)
        predicted = functional_call(self.model, weights, (inputs,))
        # Coordinates that a ladder does not have count: they begin as noise in the predictor too.
        errors: torch.Tensor = ((predicted - noise) ** 2).mean(dim=1)
        return errors
