"""A ladder for each topology, learned through the simulator: no design is needed."""

import torch
from torch.nn import functional

from tasks.filter_design.models.batches import Batch
from tasks.filter_design.models.layers import Layers
from tasks.filter_design.models.proposer import ProposerModule
from tasks.filter_design.models.rows import MaskRows, Scales
from tasks.filter_design.models.simulator import BAND_ORDER, Masks, simulate_margins
from tasks.filter_design.params import RegressionConfig
from tasks.filter_design.predictor.networks import MAX_VALUES

SOFTNESS_DB = 0.3  # margins well above 0 need no more, those well below count in full
BAND_ROUNDING = 0.125  # of a step: inductor and capacitor are rounded together


class RegressionModule(ProposerModule):
    """Raises the least margin of ladders whose parts have the errors of rounding."""

    config: RegressionConfig
    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, config: RegressionConfig, num_features: int, scales: Scales) -> None:
        super().__init__(config)
        self.model = Layers(num_features, config.hidden, config.layers, 2 * MAX_VALUES)
        self.register_buffer("mean", torch.from_numpy(scales.mean), persistent=False)
        self.register_buffer("scale", torch.from_numpy(scales.scale), persistent=False)

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch, with new errors of rounding."""
        errors = torch.rand(2, len(batch["features"]), MAX_VALUES)
        return self._compute_losses(batch, errors).mean()

    def measure(self, batch: Batch, generator: torch.Generator) -> torch.Tensor:
        """Return the loss of each row [B]."""
        errors = torch.rand(2, len(batch["features"]), MAX_VALUES, generator=generator)
        return self._compute_losses(batch, errors)

    def _compute_losses(self, batch: Batch, errors: torch.Tensor) -> torch.Tensor:
        masks = Masks(*(batch[name] for name in MaskRows._fields))
        heads = self.model(batch["features"]).view(-1, 2, MAX_VALUES)
        mean, scale = self.mean[batch["groups"], :-1], self.scale[batch["groups"], :-1]
        temperature = self.config.temperature
        losses = torch.zeros(len(heads))
        for head in (0, 1):  # capacitors first, then inductors, as in the predictor
            rounding = (errors[head] - 0.5) * self._list_steps(masks)
            values = heads[:, head] * scale + mean + rounding
            arrangements = torch.full((len(values),), 1 - head)
            margins = simulate_margins(masks, values, arrangements)
            least = -temperature * torch.logsumexp(-margins / temperature, dim=1)
            losses = losses + SOFTNESS_DB * functional.softplus(-least / SOFTNESS_DB) / 2
        return losses

    def _list_steps(self, masks: Masks) -> torch.Tensor:
        """Return the width of the errors of rounding of each coordinate [B, MAX_VALUES]."""
        steps = masks.step[:, None].expand(-1, MAX_VALUES)
        is_detuning = (masks.width[:, None] > 0) & (torch.arange(MAX_VALUES) >= BAND_ORDER)
        width = masks.width[:, None].clamp(min=1e-6)
        return torch.where(is_detuning, BAND_ROUNDING * steps / width, steps)
