"""The LightningModule that trains every network: mean squared error over all samples and components of a chunk."""

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
        found, state = self._answer(batch["signals"], self._state(batch["first"]) if self._carries else None)
        if self._carries:
            for kept, new in zip((self.hidden, self.cell), state, strict=True):
                kept[:, : new.shape[1]].copy_(new.detach())
        return functional.mse_loss(found, batch["components"])

    def on_validation_epoch_start(self) -> None:
        """Start the sums that validation_step adds to."""
        self._sums = torch.zeros(2, device=self.device)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one batch of whole windows to squared error and rows."""
        found, _ = self._answer(batch["signals"], None)
        size = len(found)
        error = functional.mse_loss(found, batch["components"]) * size
        self._sums += torch.stack([error, error.new_tensor(size)])

    def on_validation_epoch_end(self) -> None:
        """Log the error over all windows."""
        error, rows = self._sums.tolist()
        self.log("validation/loss", error / rows)

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises at first, then falls to 0 as a cosine.

        Smith and Topin 2018, arXiv:1708.07120, without their cycle of momentum.
        """
        shape = self._shape
        optimizer = torch.optim.Adam(self.model.parameters(), lr=shape.learning_rate)
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, shape.learning_rate, self._num_steps, pct_start=shape.warmup, cycle_momentum=False
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}

    def _answer(self, signals: torch.Tensor, state: State | None) -> tuple[torch.Tensor, State]:
        with torch.autocast(signals.device.type, enabled=False):  # rounding would add up from step to step
            found: tuple[torch.Tensor, State] = self.model(signals, state)
            return found

    def _state(self, first: torch.Tensor) -> State:
        """The states that were kept, zero for windows of which this is the first chunk."""
        goes_on = (~first).repeat_interleave(self.model.rows_a_window).to(self.hidden.dtype)[None, :, None]
        rows = goes_on.shape[1]
        return self.hidden[:, :rows] * goes_on, self.cell[:, :rows] * goes_on
