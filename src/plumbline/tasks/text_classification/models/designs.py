"""From what describes a candidate's models to a Learner of one model, or of several together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.records import Learner
from plumbline.contract.suggestion import suggest_nearest
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.classifier import TextClassifier
from plumbline.tasks.text_classification.models.export import export_model
from plumbline.tasks.text_classification.models.forms import FormPolicy
from plumbline.tasks.text_classification.models.texts import TrainingTexts
from plumbline.tasks.text_classification.params import EncoderConfig, LinearConfig, ModuleConfig


@dataclass(frozen=True)
class ModelDesign:
    """What all models of one config share, and how each of them is built."""

    config: LinearConfig | EncoderConfig | ModuleConfig
    data: TextDataModule
    build_model: Callable[[int], torch.nn.Module]  # from its seed
    configure_optimizers: Callable[[torch.nn.Module], Any]
    # Writes what the predictor reads besides the graph; returns config.json.
    write_settings: Callable[[Path, torch.nn.Module], dict[str, Any]]
    label_smoothing: float = 0.0
    class_weights: torch.Tensor | None = None  # (classes,), of the loss
    min_gain: float = 0.0
    monitor: str = "validation/loss"
    gradient_clip: float = 1.0
    in_halves: bool = False  # on a CPU; all that the model draws is ByteDropout's


def assemble_learner(design: ModelDesign, seed: int, policy: FormPolicy) -> Learner:
    """Return the Learner of one model with this seed."""
    model = design.build_model(seed)

    def save(folder: Path) -> None:
        settings = design.write_settings(folder, model)
        export_model(folder, model, design.data, policy, settings)

    return build_trainable(design, TextClassifier(model, design), save, design.gradient_clip)


def build_trainable(
    design: ModelDesign, module: TextClassifier, save: Callable[[Path], None], gradient_clip: float
) -> Learner:
    """Return the Learner that trains `module` as the design's config says."""
    return Learner(
        save=save,
        module=module,
        data=design.data,
        max_epochs=design.config.max_epochs,
        patience=design.config.patience,
        min_gain=design.min_gain,
        monitor=design.monitor,
        gradient_clip=gradient_clip,
    )


def weigh_classes(weights: str | Mapping[str, float], texts: TrainingTexts) -> torch.Tensor | None:
    """Return the weight of each of `texts.classes` (classes,), float32; None where all are equal.

    The mean over the train rows is 1, so that a learning rate keeps its meaning. ParamsError where
    a class is named that train does not have.
    """
    if weights == "none":
        return None
    counts = texts.train.label_counts
    if isinstance(weights, Mapping):
        known = texts.classes
        for name in weights:
            if name not in known:
                hint = suggest_nearest(name, known) or f"; train has {len(known)} others"
                raise ParamsError(f"class_weights: no row of train has the label {name!r}{hint}")
        values = [weights.get(name, 1.0) for name in texts.classes]
    else:
        values = [1 / counts[name] for name in texts.classes]
    total = sum(counts[name] * value for name, value in zip(texts.classes, values, strict=True))
    return torch.tensor([value * counts.total() / total for value in values])
