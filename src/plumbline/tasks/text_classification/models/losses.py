"""The loss of each row: cross-entropy of its class, or the sum over its labels of the binary one.

Labels are class indices (rows,), or of sets ones where a row has the label (rows, classes).
"""

import torch
from torch.nn import functional


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


def sum_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the negative log likelihood of all rows together."""
    if labels.ndim == 1:
        return functional.cross_entropy(logits, labels, reduction="sum")
    return compute_losses(logits, labels, 0.0).sum()


def find_hits(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return which rows (rows,) get their class, or exactly their labels at even odds."""
    if labels.ndim == 1:
        return logits.argmax(1) == labels
    return ((logits > 0) == labels.bool()).all(1)
