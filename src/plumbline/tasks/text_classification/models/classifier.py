"""The LightningModule that trains every kind of model: cross-entropy on logits, and the figures to watch."""

from collections.abc import Callable
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch
from torch.nn import functional

from plumbline.tasks.text_classification.models.batches import Batch


class Classifier(L.LightningModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """`model(**inputs)` gives logits of shape (rows, classes); `optimizers` is what configure_optimizers returns."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Callable[[torch.nn.Module], Any],
        label_smoothing: float,
    ) -> None:
        super().__init__()
        self.model, self._optimizers_of, self._label_smoothing = model, optimizers, label_smoothing

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Logits, in fp32 whatever the model computes in."""
        logits: torch.Tensor = self.model(**inputs).float()
        return logits

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        """The mean loss of a batch."""
        logits, labels = self._answer(batch)
        return self._objective(logits, labels)

    def on_validation_epoch_start(self) -> None:
        """Start the sums that validation_step adds to."""
        self._sums = torch.zeros(4, device=self.device)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one batch to loss, objective, hits and rows."""
        logits, labels = self._answer(batch)
        loss = functional.cross_entropy(logits, labels, reduction="sum")
        objective = self._objective(logits, labels) * len(labels)
        hits = (logits.argmax(1) == labels).sum()
        self._sums += torch.stack([loss, objective, hits, loss.new_tensor(len(labels))])

    def on_validation_epoch_end(self) -> None:
        """Log the loss (NLL), the objective (with label smoothing, as in training) and the accuracy over all rows."""
        loss, objective, hits, rows = self._sums.tolist()
        figures = {"loss": loss / rows, "objective": objective / rows, "accuracy": hits / rows}
        self.log_dict({f"validation/{name}": value for name, value in figures.items()})

    def configure_optimizers(self) -> Any:
        """Optimizer, and schedule if there is one."""
        return self._optimizers_of(self.model)

    def _objective(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(logits, labels, label_smoothing=self._label_smoothing)

    def _answer(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        return self(**inputs), batch["labels"]
