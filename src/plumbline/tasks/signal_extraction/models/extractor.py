"""The LightningModule that trains every network: mean squared error over all samples and components of a chunk."""

from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch
from torch.nn import functional

from plumbline.tasks.signal_extraction.models.batches import Batch
from plumbline.tasks.signal_extraction.models.networks import Conditioned, Film, State
from plumbline.tasks.signal_extraction.params import Recurrent


class Extractor(L.LightningModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """Trains `model`. With `carried` > 0 windows a batch, a chunk begins in the state in which the last one ended.

    Truncated backpropagation through time (Williams and Peng 1990): gradients end where a chunk begins. The states are
    buffers, so that a checkpoint holds them and a killed training goes on in the middle of a window.
    """

    def __init__(self, model: Conditioned | Film, shape: Recurrent, carried: int = 0) -> None:
        super().__init__()
        self.model, self._shape = model, shape
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
        """Log the error over all windows, and let the learning rate follow it.

        Lightning would do the latter after the epoch's checkpoint was written, and a resumed training would miss it.
        """
        error, rows = self._sums.tolist()
        self.log("validation/loss", error / rows)
        if not self.trainer.sanity_checking:
            self.lr_schedulers().step(error / rows)

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Nothing: see on_validation_epoch_end."""

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate falls where the validation loss does not."""
        shape = self._shape
        optimizer = torch.optim.Adam(self.model.parameters(), lr=shape.learning_rate)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=shape.plateau_factor, patience=shape.plateau
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "validation/loss"}}

    def _answer(self, signals: torch.Tensor, state: State | None) -> tuple[torch.Tensor, State]:
        with torch.autocast(signals.device.type, enabled=False):  # rounding would add up from step to step
            found: tuple[torch.Tensor, State] = self.model(signals, state)
            return found

    def _state(self, first: torch.Tensor) -> State:
        """The states that were kept, zero for windows of which this is the first chunk."""
        goes_on = (~first).repeat_interleave(self.model.rows_a_window).to(self.hidden.dtype)[None, :, None]
        rows = goes_on.shape[1]
        return self.hidden[:, :rows] * goes_on, self.cell[:, :rows] * goes_on
