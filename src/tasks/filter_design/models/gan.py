"""A conditional generator against a critic, in one optimiser."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.func import functional_call
from torch.nn.utils.parametrizations import spectral_norm

from tasks.filter_design.models.batches import Batch
from tasks.filter_design.models.layers import (
    AverageWeights,
    CriticLayers,
    Layers,
    ReverseGradient,
)
from tasks.filter_design.models.proposer import ProposerModule
from tasks.filter_design.models.rows import MaskRows, Scales
from tasks.filter_design.models.simulator import Masks, simulate_margins
from tasks.filter_design.params import GanConfig
from tasks.filter_design.predictor.networks import MAX_VALUES, NUM_COORDINATES

NUM_DRAWS = 2  # of each validation row, whose better margin is monitored
AVERAGE = 0.999  # of the generator's weights, kept from step to step
WORST_DB = 10.0  # a margin below this counts as this


class GanModule(ProposerModule):
    """A critic with spectral norm and the hinge loss (Miyato et al. 2018, arXiv:1802.05957).

    The generator is behind a reversed gradient, so that one optimiser has the state of both, and a
    training that was killed resumes where it was.
    """

    betas = (0.0, 0.99)
    config: GanConfig
    num_steps: torch.Tensor
    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, config: GanConfig, num_features: int, scales: Scales) -> None:
        super().__init__(config)
        size = (config.hidden, config.layers)
        self.model = Layers(num_features + config.noise, *size, NUM_COORDINATES)
        self.average = AverageWeights(self.model, AVERAGE)
        self.critic = CriticLayers(num_features + NUM_COORDINATES, *size, 1)
        for layer in self.critic.layers:
            spectral_norm(layer)
        self.register_buffer("num_steps", torch.tensor(0))
        self.register_buffer("mean", torch.from_numpy(scales.mean), persistent=False)
        self.register_buffer("scale", torch.from_numpy(scales.scale), persistent=False)

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The hinge loss of the critic; the generator gets its gradient reversed."""
        # The weights of the step before: a checkpoint is written between the two.
        self.average.update(self.model, int(self.num_steps))
        self.num_steps += 1
        noise = torch.randn(len(batch["features"]), self.config.noise)
        weights = dict(self.model.named_parameters())
        drawn: torch.Tensor = ReverseGradient.apply(self._draw(weights, batch, noise))  # type: ignore[no-untyped-call]  # of torch
        real = self._judge(batch, batch["coordinates"])
        return torch.relu(1 - real).mean() + torch.relu(1 + self._judge(batch, drawn)).mean()

    def measure(self, batch: Batch, generator: torch.Generator) -> torch.Tensor:
        """Return how far the better of two draws is from meeting the mask, in dB [B]."""
        masks = Masks(*(batch[name] for name in MaskRows._fields))
        margins = []
        for _ in range(NUM_DRAWS):
            size = (len(batch["features"]), self.config.noise)
            noise = torch.randn(size, generator=generator)
            drawn = self._draw(self.list_weights(), batch, noise)
            values = drawn * self.scale[batch["groups"]] + self.mean[batch["groups"]]
            arrangements = (values[:, -1] <= 0).long()
            margins.append(simulate_margins(masks, values[:, :MAX_VALUES], arrangements))
        best = torch.stack(margins).amin(dim=2).amax(dim=0)
        return -best.clamp(-WORST_DB, 0.0)

    def list_groups(self) -> list[dict[str, Any]]:
        """Return generator and critic, each with its learning rate."""
        rate = self.config.learning_rate
        return [
            {"params": list(self.model.parameters()), "lr": rate},
            {"params": list(self.critic.parameters()), "lr": rate * self.config.critic_rate},
        ]

    def list_weights(self) -> dict[str, torch.Tensor]:
        """Return the averaged weights of the generator."""
        return self.average.list_weights()

    def _draw(
        self, weights: Mapping[str, torch.Tensor], batch: Batch, noise: torch.Tensor
    ) -> torch.Tensor:
        inputs = torch.cat([batch["features"], noise], dim=1)
        drawn: torch.Tensor = functional_call(self.model, dict(weights), (inputs,))
        return drawn

    def _judge(self, batch: Batch, coordinates: torch.Tensor) -> torch.Tensor:
        inputs = torch.cat([batch["features"], coordinates * batch["used"]], dim=1)
        judged: torch.Tensor = self.critic(inputs)[:, 0]
        return judged
