"""Does the graph of a bundle answer as the weights beside it? Asked again when it is evaluated."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import ExportDifference
from plumbline.contract.task import Columns
from plumbline.process.files import read_json
from plumbline.tasks.text_classification.params import (
    EnsembleConfig,
    LinearConfig,
    ModelConfig,
    ModuleConfig,
    TextParams,
)
from plumbline.tasks.text_classification.predictor import load

if TYPE_CHECKING:
    import torch

WEIGHTS, CONFIG = "model.safetensors", "config.json"
TOLERANCE = 1e-3  # of logits: ten times that of export, which was on the same machine


def compare_export(
    params: TextParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare the logits of the graph of `fp32` with those of the trained weights, for some texts.

    What an int8 form answers is compared with `fp32` by the gate parity, on every test row.
    """
    settings = read_json(folder / CONFIG)
    if "forms" not in settings:  # the predictor of the task answers from nothing else
        return []
    import torch

    predictor = load(folder, TRAINED_FORM)
    model = _load_model(params, candidate, folder, settings)
    expected = []
    with torch.inference_mode():
        for row in predictor.features.encode_texts(columns["text"]):
            expected.append(model(*(torch.from_numpy(array[None]) for array in row)).numpy())
    reference = np.concatenate(expected)
    largest = float(np.abs(predictor.compute_logits(columns["text"]) - reference).max())
    limit = TOLERANCE * max(1.0, float(np.abs(reference).max()))
    return [ExportDifference(TRAINED_FORM, largest, limit, len(reference))]


def _load_model(
    params: TextParams, candidate: str, folder: Path, settings: dict[str, Any]
) -> "torch.nn.Module":
    """Build the model that params describe, with the weights of the bundle."""
    from safetensors.torch import load_file

    config = params.candidates[candidate]
    if isinstance(config, EnsembleConfig):
        from plumbline.tasks.text_classification.models import ensemble

        members = [_build_model(config.member, folder, settings) for _ in range(config.members)]
        is_linear = isinstance(config.member, LinearConfig)
        kind = ensemble.LinearEnsemble if is_linear else ensemble.EncoderEnsemble
        model: torch.nn.Module = kind(members)
    else:
        model = _build_model(config, folder, settings)
    model.load_state_dict(load_file(folder / WEIGHTS))
    return model.eval()


def _build_model(config: ModelConfig, folder: Path, settings: dict[str, Any]) -> "torch.nn.Module":
    """Build a model with the shape of the one in `folder`."""
    num_classes = len(settings["classes"])
    if isinstance(config, LinearConfig):
        from plumbline.tasks.text_classification.models.linear import LinearTfidf

        num_grams = len(settings["vocabulary"])
        return LinearTfidf(num_grams, num_classes, np.zeros(num_grams, np.float32))
    if isinstance(config, ModuleConfig):
        from tokenizers import Tokenizer

        from plumbline.tasks.text_classification.models.own_module import build_module

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return build_module(config, tokenizer.get_vocab_size(), num_classes)
    from plumbline.tasks.text_classification.models import encoder, layers

    body = encoder.rebuild_body(settings["encoder"])
    layers.use_cheap_layers(body)
    return encoder.MeanPooledClassifier(body, num_classes)
