"""The LightningModule that trains every network: mean squared error over all samples and components of a chunk."""

import math
from functools import partial
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch
from torch.nn import functional

from plumbline.tasks.signal_extraction.models.batches import Batch
from plumbline.tasks.signal_extraction.models.networks import Network, State
from plumbline.tasks.signal_extraction.params import Recurrent


class Extractor(L.LightningModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """Trains `model`. With `carried` > 0 windows a batch, a chunk begins in the state in which the last one ended.

    Truncated backpropagation through time (Williams and Peng 1990): gradients end where a chunk begins. The states are
    buffers, so that a checkpoint holds them and a killed training goes on in the middle of a window.
    """

    def __init__(self, model: Network, shape: Recurrent, num_steps: int, carried: int = 0) -> None:
        super().__init__()
        self.model, self._shape, self._num_steps = model, shape, num_steps
        if carried:
            size = (shape.layers, carried * model.rows_a_window, shape.hidden)
            self.register_buffer("hidden", torch.zeros(size))
            self.register_buffer("cell", torch.zeros(size))
        self._carries = carried > 0

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """The mean squared error of a batch of chunks."""
        found, state = self.model(
            batch["signals"], self._state(batch["first"]) if self._carries else None
        )
        if self._carries:
            for kept, new in zip((self.hidden, self.cell), state, strict=True):
                kept.copy_(new.detach())
        return functional.mse_loss(found, batch["components"])

    def on_validation_epoch_start(self) -> None:
        """Start the sums that validation_step adds to."""
        self._sums = torch.zeros(2, device=self.device)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one batch of whole windows to squared error and rows."""
        found, _ = self.model(batch["signals"])
        size = len(found)
        error = functional.mse_loss(found, batch["components"]) * size
        self._sums += torch.stack([error, error.new_tensor(size)])

    def on_validation_epoch_end(self) -> None:
        """Log the error over all windows."""
        error, rows = self._sums.tolist()
        self.log("validation/loss", error / rows)

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine.

        Loshchilov and Hutter 2017, arXiv:1608.03983, without restarts.
        """
        optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self._shape.learning_rate, fused=True
        )
        rate = partial(_rate, self._num_steps, self._shape.warmup * self._num_steps)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _state(self, first: torch.Tensor) -> State:
        """The states that were kept, zero for windows of which this is the first chunk."""
        goes_on = (
            (~first)
            .repeat_interleave(self.model.rows_a_window)
            .to(self.hidden.dtype)[None, :, None]
        )
        return self.hidden * goes_on, self.cell * goes_on


def _rate(num_steps: int, num_warmup: float, step: int) -> float:
    """The share of the learning rate at `step`."""
    if step < num_warmup:
        return (step + 1) / (num_warmup + 1)
    return (1 + math.cos(math.pi * (step - num_warmup) / (num_steps - num_warmup))) / 2
