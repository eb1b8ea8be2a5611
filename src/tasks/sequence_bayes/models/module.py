"""The module that trains every network: cross entropy of the symbols that came."""

from typing import Any

import torch
from torch.nn import functional

from plumbline.contract.learning_rate import decay_by_cosine
from tasks.sequence_bayes.models.batches import Batch
from tasks.sequence_bayes.models.layers import SymbolLayers
from tasks.sequence_bayes.params import NetworkConfig

GUESS_WEIGHT = 0.1  # of the mean squared error of a statistic, beside the loss in nats


class SymbolModule(torch.nn.Module):
    """Trains `model`, whose logits [B, T, V] predict the symbol at each place."""

    def __init__(self, model: SymbolLayers, config: NetworkConfig, num_steps: int) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean cross entropy of a batch, in nats per symbol, and what a guess adds to it."""
        units = self.model.encode(batch)
        loss = self._compute_loss(units, batch)
        if self.model.guess is None:
            return loss
        error = functional.mse_loss(self.model.guess(units), batch["statistic"])
        return loss + GUESS_WEIGHT * error

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss of a batch, times its rows."""
        loss = self._compute_loss(self.model.encode(batch), batch)
        return {"loss": loss * len(batch["symbols"])}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine."""
        config = self._config
        optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate, fused=True)
        num_warmup = config.warmup * self._num_steps
        return decay_by_cosine(optimizer, self._num_steps, num_warmup)

    def _compute_loss(self, units: torch.Tensor, batch: Batch) -> torch.Tensor:
        logits = self.model.head(units)
        return functional.cross_entropy(logits.flatten(0, 1), batch["symbols"].flatten())
