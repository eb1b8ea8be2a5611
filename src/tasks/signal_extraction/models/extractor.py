"""The module that trains every network: mean squared error over a chunk."""

from typing import Any

import torch
from torch.nn import functional

from plumbline.contract.learning_rate import decay_by_cosine
from tasks.signal_extraction.models.batches import Batch
from tasks.signal_extraction.models.networks import Network, State
from tasks.signal_extraction.params import RecurrentConfig


class Extractor(torch.nn.Module):
    """Trains `model`; with `num_carried` > 0 windows a batch, a chunk starts from the last state.

    Truncated backpropagation through time (Williams and Peng 1990): gradients end where a chunk
    starts. The states are buffers, so that a checkpoint holds them and a killed training continues
    in the middle of a window.
    """

    hidden: torch.Tensor
    cell: torch.Tensor

    def __init__(
        self, model: Network, config: RecurrentConfig, num_steps: int, num_carried: int = 0
    ) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps
        self._carries = num_carried > 0
        if self._carries:
            size = (config.layers, num_carried * model.rows_a_window, config.hidden)
            self.register_buffer("hidden", torch.zeros(size))
            self.register_buffer("cell", torch.zeros(size))

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean squared error of a batch of chunks."""
        before = self._read_state(batch["first"]) if self._carries else None
        components, (hidden, cell) = self.model(batch["signals"], before)
        if self._carries:
            self.hidden.copy_(hidden.detach())
            self.cell.copy_(cell.detach())
        return functional.mse_loss(components, batch["components"])

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the squared error of a batch of whole windows, times its rows."""
        components, _ = self.model(batch["signals"])
        return {"loss": functional.mse_loss(components, batch["components"]) * len(components)}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine.

        Loshchilov and Hutter 2017, arXiv:1608.03983, without restarts.
        """
        optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self._config.learning_rate, fused=True
        )
        num_warmup = self._config.warmup * self._num_steps
        return decay_by_cosine(optimizer, self._num_steps, num_warmup)

    def _read_state(self, first: torch.Tensor) -> State:
        """Return the carried states, zero for windows of which this is the first chunk."""
        continues = (~first).repeat_interleave(self.model.rows_a_window)
        factor = continues.to(self.hidden.dtype)[None, :, None]
        return self.hidden * factor, self.cell * factor
