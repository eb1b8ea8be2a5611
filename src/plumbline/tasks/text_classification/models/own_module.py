"""A candidate whose torch.nn.Module is the user's own; tokens in and logits out are as elsewhere.

What is exported, sealed and served is its graph, so its code is only needed to train and evaluate.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.learning_rate import decay_linearly
from plumbline.encoders.tokenizer import train_tokenizer
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.designs import ModelDesign, weigh_classes
from plumbline.tasks.text_classification.models.reading import tokenize_texts
from plumbline.tasks.text_classification.models.texts import TrainingTexts
from plumbline.tasks.text_classification.params import ModuleConfig


def plan_module(config: ModuleConfig, seed: int, texts: TrainingTexts) -> ModelDesign:
    """Plan the training of the user's module; its tokenizer is trained on the train split alone."""
    tokenizer = train_tokenizer(texts.train.iterate_texts(), config.vocabulary, config.max_tokens)
    reads = tokenize_texts(config, seed, tokenizer, texts)

    def build_model(seed: int) -> torch.nn.Module:
        torch.manual_seed(seed)
        model = build_module(config, tokenizer.get_vocab_size(), len(texts.classes))
        _check_logits(config, model, reads.data, len(texts.classes))
        return model

    def write_settings(folder: Path, model: torch.nn.Module) -> dict[str, Any]:
        return {"kind": "module", **reads.write_settings(folder)}

    return ModelDesign(
        config=config,
        data=reads.data,
        build_model=build_model,
        configure_optimizers=partial(_configure_optimizers, config, len(reads.data.sampler)),
        write_settings=write_settings,
        label_smoothing=config.label_smoothing,
        class_weights=weigh_classes(config.class_weights, texts),
        monitor="validation/objective",
        gradient_clip=config.gradient_clip,
    )


def build_module(config: ModuleConfig, num_tokens: int, num_classes: int) -> torch.nn.Module:
    """Build the module that `config` names; ParamsError where it names none."""
    build = _find_builder(config.module)
    model = build(
        num_tokens=num_tokens,
        num_classes=num_classes,
        max_tokens=config.max_tokens,
        **config.settings,
    )
    if not isinstance(model, torch.nn.Module):
        raise ParamsError(
            f"module: {config.module} returned a {type(model).__name__}; expected a torch.nn.Module"
        )
    return model


def _find_builder(address: str) -> Callable[..., Any]:
    path, _, name = address.rpartition(":")
    spec = spec_from_file_location(Path(path).stem, path)
    if not Path(path).is_file() or spec is None or spec.loader is None:
        raise ParamsError(f"module: {path}: no such file")
    code = module_from_spec(spec)
    spec.loader.exec_module(code)
    build: Callable[..., Any] | None = getattr(code, name, None)
    if not callable(build):
        raise ParamsError(f"module: {path} has no class or function {name!r}")
    return build


def _check_logits(
    config: ModuleConfig, model: torch.nn.Module, data: TextDataModule, num_classes: int
) -> None:
    """TrainingError where the module does not return logits for two rows of the train split."""
    batch = data.train.__getitems__([0, 1])
    with torch.no_grad():
        logits = model.eval()(**{name: batch[name] for name in data.train.names})
    model.train()
    found = tuple(getattr(logits, "shape", ()))
    if found != (2, num_classes):
        raise TrainingError(
            f"{config.module}: expected logits of shape (rows, classes), which is "
            f"{(2, num_classes)} for two rows; found {found or type(logits).__name__}"
        )


def _configure_optimizers(config: ModuleConfig, epoch_steps: int, model: torch.nn.Module) -> Any:
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    num_steps = epoch_steps * config.max_epochs
    return decay_linearly(optimizer, num_steps, round(config.warmup * num_steps))
