"""What the modules of all networks share: optimiser, schedule, the validation loss."""

from typing import Any, Self

import torch

from plumbline.contract.learning_rate import decay_by_cosine
from tasks.filter_design.models.batches import Batch
from tasks.filter_design.params import LadderNetworkConfig

WARMUP = 0.02  # share of steps in which the learning rate rises
VALIDATION_SEED = 11


class ProposerModule(torch.nn.Module):
    """A network that proposes ladders; `compute_loss` is what it minimises."""

    model: torch.nn.Module

    def __init__(self, config: LadderNetworkConfig) -> None:
        super().__init__()
        self.config = config

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch."""
        raise NotImplementedError

    def measure(self, batch: Batch, generator: torch.Generator) -> torch.Tensor:
        """Return the validation loss of each row [B]; random numbers come from `generator`."""
        raise NotImplementedError

    def list_weights(self) -> dict[str, torch.Tensor]:
        """Return the weights that answer, by the names of `model`'s parameters."""
        return dict(self.model.named_parameters())

    def eval(self) -> Self:
        """Validate from here on, with the same random numbers each time."""
        self._generator = torch.Generator().manual_seed(VALIDATION_SEED)
        return super().eval()

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the sum of the loss over a batch."""
        return {"loss": self.measure(batch, self._generator).sum()}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine."""
        optimizer = torch.optim.Adam(
            self.list_groups(), lr=self.config.learning_rate, betas=self.betas, fused=True
        )
        num_steps = self.config.steps_per_epoch * self.config.max_epochs
        return decay_by_cosine(optimizer, num_steps, WARMUP * num_steps)

    betas = (0.9, 0.999)

    def list_groups(self) -> list[dict[str, Any]]:
        """Return the groups of weights of the optimiser."""
        return [{"params": list(self.model.parameters())}]
