"""The module that trains every network: cross entropy of the symbols that came."""

from typing import Any

import torch
from torch.nn import functional

from plumbline.contract.learning_rate import decay_by_cosine
from tasks.sequence_bayes.models.batches import Batch
from tasks.sequence_bayes.models.layers import SymbolLayers
from tasks.sequence_bayes.params import NetworkConfig


class SymbolModule(torch.nn.Module):
    """Trains `model`, whose logits [B, T, V] predict the symbol at each place."""

    def __init__(self, model: SymbolLayers, config: NetworkConfig, num_steps: int) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean cross entropy of a batch, in nats per symbol."""
        logits = self.model(batch["inputs"])
        return functional.cross_entropy(logits.flatten(0, 1), batch["symbols"].flatten())

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss of a batch, times its rows."""
        return {"loss": self.training_step(batch) * len(batch["symbols"])}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine."""
        config = self._config
        optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate, fused=True)
        num_warmup = config.warmup * self._num_steps
        return decay_by_cosine(optimizer, self._num_steps, num_warmup)
