"""Do graphs and temperature of a bundle follow from its weights? They are derived again."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.params import INT8, TRAINED_FORM
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

    from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts

WEIGHTS, CONFIG = "model.safetensors", "config.json"
TEMPERATURE_ROUNDING = 0.02  # as a share: another machine gives other last digits of logits


def compare_export(
    params: TextParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Derive the graph of `fp32` from the weights, int8 from that, and the temperature from both.

    Whatever `columns` are: a number that no test row reads counts as much as any other.
    """
    settings = read_json(folder / CONFIG)
    if "forms" not in settings:  # the predictor of the task answers from nothing else
        return []
    import onnx

    from plumbline.encoders.graphs import compare_graphs, derive_int8
    from plumbline.tasks.text_classification.models.export import derive_graph

    rows = _read_validation(folder, settings)
    graphs = {form: onnx.load(folder / name) for form, name in settings["forms"].items()}
    derived = {TRAINED_FORM: derive_graph(_load_model(params, candidate, folder, settings), rows)}
    if INT8 in graphs:
        derived[INT8] = derive_int8(graphs[TRAINED_FORM])
    differences = [compare_graphs(form, graphs[form], derived[form]) for form in derived]
    beyond = abs(settings["max_chars"] - params.data.policies.max_chars)
    differences.append(ExportDifference("max_chars", beyond, 0, 0))
    return [*differences, _compare_temperature(folder, settings, rows)]


def _read_validation(folder: Path, settings: dict[str, Any]) -> "EncodedTexts":
    """Encode the validation rows as the candidate did when it was trained."""
    from plumbline.encoders.tokenizer import INPUT_NAMES
    from plumbline.tasks.text_classification.models import encoded_texts, linear, texts

    names = linear.INPUT_NAMES if settings["kind"] == "linear" else INPUT_NAMES
    split = texts.read_training_texts(layout.EXAMPLES, settings["max_chars"]).validation
    return encoded_texts.encode_split(names, split, settings["classes"], load(folder).features)


def _compare_temperature(
    folder: Path, settings: dict[str, Any], rows: "EncodedTexts"
) -> ExportDifference:
    """Fit the temperature of the form that is served again, to its answers to validation."""
    from plumbline.tasks.text_classification.models.export import fit_temperature
    from plumbline.tasks.text_classification.models.logits import compute_graph_logits

    served = settings["served"]
    logits = compute_graph_logits(folder / settings["forms"][served], served, rows)
    fitted = fit_temperature(logits, rows.targets)
    distance = abs(settings["temperature"] - fitted) / fitted
    return ExportDifference("the temperature", distance, TEMPERATURE_ROUNDING, len(rows))


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
    from plumbline.encoders.architectures import rebuild_body
    from plumbline.encoders.layers import use_cheap_layers
    from plumbline.tasks.text_classification.models.encoder import MeanPooledClassifier

    body = rebuild_body(settings["encoder"])
    use_cheap_layers(body)
    return MeanPooledClassifier(body, num_classes)
