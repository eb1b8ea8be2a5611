"""Several models of one config, trained together: where they differ, the model does not know.

Members that answer alike where the data are many, and differ where they are few, show what more
data could settle (Lakshminarayanan, Pritzel and Blundell 2017, arXiv:1612.01474). Encoders differ
by their random weights and dropout; a linear layer has one best solution whatever its seed, so its
members weigh the rows differently, as a bootstrap would (bagging: Breiman 1996; with Poisson
weights: Oza and Russell 2001). Dropout at inference (Gal and Ghahramani 2016, arXiv:1506.02142) is
no alternative here: an exported graph would have to draw random numbers, and one text would get
two answers.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from plumbline.contract.records import Learner
from plumbline.encoders.halves import Batch
from plumbline.tasks.text_classification.models.classifier import TextClassifier
from plumbline.tasks.text_classification.models.designs import ModelDesign, build_trainable
from plumbline.tasks.text_classification.models.export import export_model
from plumbline.tasks.text_classification.models.forms import FormPolicy
from plumbline.tasks.text_classification.models.linear import INPUT_NAMES, build_linear_graph
from plumbline.tasks.text_classification.params import LinearConfig

BLOCK = 65_536  # rows whose weights are drawn at once
OUTPUTS = ["epistemic", "aleatoric"]  # that the bundle of an ensemble has besides the others


class LinearEnsemble(torch.nn.Module):
    """Linear models that answer the same texts."""

    def __init__(self, members: list[torch.nn.Module]) -> None:
        super().__init__()
        self.members = torch.nn.ModuleList(members)

    def forward(self, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Logits (rows, members, classes) from ids and weights (rows, grams)."""
        return torch.stack([member(ids, weights) for member in self.members], dim=1)

    def build_graph(self) -> Any:
        """Return the onnx.ModelProto that answers as these models."""
        members: Any = self.members
        weights = [member.get_weights() for member in members]
        return build_linear_graph(INPUT_NAMES, weights, is_ensemble=True)


class EncoderEnsemble(torch.nn.Module):
    """Encoders that answer the same texts."""

    def __init__(self, members: list[torch.nn.Module]) -> None:
        super().__init__()
        self.members = torch.nn.ModuleList(members)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Logits (rows, members, classes) from ids and mask (rows, tokens)."""
        return torch.stack([member(input_ids, attention_mask) for member in self.members], dim=1)


class EnsembleClassifier(TextClassifier):
    """Every member learns by itself; they are validated together, by their mean."""

    def compute_loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of all members, each row with the weight that it has for each."""
        logits = self(**self.select_inputs(batch))
        num_members = logits.shape[1]
        labels = batch["labels"].repeat_interleave(num_members)
        losses = self.compute_losses(logits.flatten(0, 1), labels).view(-1, num_members)
        if "row_weights" in batch:
            losses = losses * batch["row_weights"]
        return losses.mean()

    def compute_logits(self, batch: Batch) -> torch.Tensor:
        """Return the logarithm of the members' mean probabilities (rows, classes)."""
        logits = self(**self.select_inputs(batch))
        pooled = torch.logsumexp(functional.log_softmax(logits, dim=2), dim=1)
        return pooled - math.log(logits.shape[1])


def assemble_ensemble(
    design: ModelDesign, num_members: int, seed: int, policy: FormPolicy
) -> Learner:
    """Return the Learner of `num_members` models, with the seeds from `seed` on."""
    members = [design.build_model(seed + number) for number in range(num_members)]
    is_linear = isinstance(design.config, LinearConfig)
    model = LinearEnsemble(members) if is_linear else EncoderEnsemble(members)
    if is_linear:
        num_rows = len(design.data.train)
        design.data.train.row_weights = draw_row_weights(num_rows, num_members, seed)

    def save(folder: Path) -> None:
        settings = design.write_settings(folder, members[0])
        settings |= {"members": num_members, "outputs": OUTPUTS}
        export_model(folder, model, design.data, policy, settings)

    # The loss is the mean over members, so that the gradient of each is divided by their number,
    # and the norm of all together by its root.
    gradient_clip = design.gradient_clip / math.sqrt(num_members)
    return build_trainable(design, EnsembleClassifier(model, design), save, gradient_clip)


def draw_row_weights(num_rows: int, num_members: int, seed: int) -> np.ndarray:
    """Draw how often each member sees each row (rows, members), uint8: Poisson with mean 1."""
    random = np.random.default_rng((seed, num_members))
    weights = np.empty((num_rows, num_members), np.uint8)
    for start in range(0, num_rows, BLOCK):
        block = weights[start : start + BLOCK]
        block[:] = random.poisson(1.0, block.shape)
    return weights
