"""How much a row of each class counts in the loss."""

from collections.abc import Mapping

import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.tasks.text_classification.models.texts import TrainingTexts


def weigh_classes(weights: str | Mapping[str, float], texts: TrainingTexts) -> torch.Tensor | None:
    """Return the weight of each of `texts.classes` (classes,), float32; None where all are equal.

    The mean over the train rows is 1, so that a learning rate keeps its meaning. ParamsError where
    a class is named that train does not have.
    """
    if weights == "none":
        return None
    counts = texts.train.label_counts
    if isinstance(weights, Mapping):
        _refuse_unknown(weights, texts.classes)
        values = [weights.get(name, 1.0) for name in texts.classes]
    else:
        values = [1 / counts[name] for name in texts.classes]
    total = sum(counts[name] * value for name, value in zip(texts.classes, values, strict=True))
    return torch.tensor([value * counts.total() / total for value in values])


def _refuse_unknown(weights: Mapping[str, float], classes: list[str]) -> None:
    for name in weights:
        if name not in classes:
            hint = suggest_nearest(name, classes) or f"; train has {len(classes)} others"
            raise ParamsError(f"class_weights: no row of train has the label {name!r}{hint}")
