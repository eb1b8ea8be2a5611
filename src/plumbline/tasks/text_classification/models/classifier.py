"""The module that trains every kind of model: its loss on logits, and its metrics."""

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from plumbline.encoders.halves import Batch, compute_in_halves
from plumbline.process import ranks

if TYPE_CHECKING:
    from plumbline.tasks.text_classification.models.designs import ModelDesign

TARGETS = ("labels", "row_weights")  # of a batch: not read by the model


class TextClassifier(torch.nn.Module):
    """`model(**inputs)` returns logits of shape (rows, classes).

    Labels are class indices (rows,), or of sets ones where a row has the label (rows, classes).
    """

    class_weights: torch.Tensor | None

    def __init__(self, model: torch.nn.Module, design: "ModelDesign") -> None:
        super().__init__()
        self.model = model
        self._optimizers_of = design.configure_optimizers
        self.label_smoothing = design.label_smoothing
        self.in_halves = design.in_halves
        # (classes,); it follows from params and train, so that no checkpoint keeps it.
        self.register_buffer("class_weights", design.class_weights, persistent=False)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Logits, in fp32 whatever precision the model computes in."""
        logits: torch.Tensor = self.model(**inputs).float()
        return logits

    def training_step(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of a batch."""
        is_shared = ranks.get_world_size() > 1  # among processes, which wait for each other
        if not self.in_halves or is_shared or batch["labels"].device.type != "cpu":
            return self.compute_loss(batch)
        weights = [weight for weight in self.parameters() if weight.requires_grad]
        return compute_in_halves(self.compute_loss, weights, batch)

    def compute_loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of a batch, or of a part of one."""
        return self._compute_objective(self.compute_logits(batch), batch["labels"])

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return sums over a batch: loss (NLL), objective (what training minimises) and hits."""
        labels = batch["labels"]
        logits = self.compute_logits(batch)
        return {
            "loss": _sum_losses(logits, labels),
            "objective": self._compute_objective(logits, labels) * len(labels),
            "accuracy": _find_hits(logits, labels).sum(),
        }

    def configure_optimizers(self) -> Any:
        """Return the optimizer and its schedule, or None."""
        return self._optimizers_of(self.model)

    def compute_logits(self, batch: Batch) -> torch.Tensor:
        """Return the logits of a batch (rows, classes)."""
        logits: torch.Tensor = self(**self.select_inputs(batch))
        return logits

    @staticmethod
    def select_inputs(batch: Batch) -> Batch:
        """Return what the model reads: all but labels, and the weights of rows."""
        return {name: tensor for name, tensor in batch.items() if name not in TARGETS}

    def compute_losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, with label smoothing, by the weight of its class.

        Weights are not divided by their sum over the batch: a batch of rare classes would count as
        little as any other.
        """
        losses = compute_losses(logits, labels, self.label_smoothing)
        if self.class_weights is None:
            return losses
        weighted: torch.Tensor = losses * self.class_weights[labels]
        return weighted

    def _compute_objective(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if self.class_weights is None and labels.ndim == 1:
            return functional.cross_entropy(logits, labels, label_smoothing=self.label_smoothing)
        return self.compute_losses(logits, labels).mean()


def compute_losses(
    logits: torch.Tensor, labels: torch.Tensor, label_smoothing: float
) -> torch.Tensor:
    """Return the loss of each row (rows,).

    Smoothing gives a share of the right class to all classes; of a set, of each decision to both
    of its sides.
    """
    if labels.ndim == 1:
        return functional.cross_entropy(
            logits, labels, label_smoothing=label_smoothing, reduction="none"
        )
    targets = labels * (1 - label_smoothing) + label_smoothing / 2
    losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return losses.sum(1)


def _sum_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the negative log likelihood of all rows together."""
    if labels.ndim == 1:
        return functional.cross_entropy(logits, labels, reduction="sum")
    return compute_losses(logits, labels, 0.0).sum()


def _find_hits(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return which rows (rows,) get their class, or exactly their labels at even odds."""
    if labels.ndim == 1:
        return logits.argmax(1) == labels
    return ((logits > 0) == labels.bool()).all(1)
