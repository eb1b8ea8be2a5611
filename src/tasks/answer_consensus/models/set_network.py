"""The network on the set of answers, and the module that trains it."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from plumbline.contract.learning_rate import decay_by_cosine
from tasks.answer_consensus.models.set_batches import Batch
from tasks.answer_consensus.params import SetConfig


class SetNet(nn.Module):
    """Deep Sets (Zaheer et al. 2017) in two layers, as the predictor computes it in NumPy.

    The second layer sees an element's own first layer, and the mean of all of them.
    """

    def __init__(self, num_features: int, hidden: int) -> None:
        super().__init__()
        self.enter = nn.Linear(num_features, hidden)
        self.own = nn.Linear(hidden, hidden)
        self.shared = nn.Linear(hidden, hidden, bias=False)
        self.leave = nn.Linear(hidden, 1)

    def forward(self, features: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return utilities [B, E] of elements with `features` [B, E, F]; -inf outside `mask`."""
        first = functional.relu(self.enter(features)) * mask[..., None]
        shared = self.shared(first.sum(dim=1) / mask.sum(dim=1, keepdim=True))
        second = functional.relu(self.own(first) + shared[:, None])
        utilities: torch.Tensor = self.leave(second)[..., 0]
        return utilities.masked_fill(~mask, -torch.inf)


class Chooser(torch.nn.Module):
    """Trains `model` by the cross entropy of which element is right."""

    def __init__(self, model: SetNet, config: SetConfig, num_steps: int) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean loss of a batch."""
        return functional.cross_entropy(self._rate(batch), batch["right"])

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the sum of the loss over a batch."""
        loss = functional.cross_entropy(self._rate(batch), batch["right"], reduction="sum")
        return {"loss": loss}

    def configure_optimizers(self) -> Any:
        """AdamW (Loshchilov and Hutter 2019); the learning rate falls as a cosine."""
        optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=self._config.learning_rate,
            weight_decay=self._config.weight_decay,
        )
        return decay_by_cosine(optimizer, self._num_steps)

    def _rate(self, batch: Batch) -> torch.Tensor:
        utilities: torch.Tensor = self.model(batch["features"], batch["mask"])
        return utilities
