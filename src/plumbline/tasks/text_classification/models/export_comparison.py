"""Do graphs and temperature of a bundle follow from its weights? They are derived again."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
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

    from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts

WEIGHTS, CONFIG = "model.safetensors", "config.json"
# As shares of the largest number of a table, and of the temperature: another machine gives other
# last digits of constants that are folded, and of logits.
ROUNDING, TEMPERATURE_ROUNDING = 1e-6, 0.02


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

    from plumbline.tasks.text_classification.models.export import derive_graph
    from plumbline.tasks.text_classification.models.forms import INT8, write_int8_form

    rows = _read_validation(folder, settings)
    graphs = {form: onnx.load(folder / name) for form, name in settings["forms"].items()}
    derived = {TRAINED_FORM: derive_graph(_load_model(params, candidate, folder, settings), rows)}
    if INT8 in graphs:
        with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
            path = Path(private) / "model.onnx"
            write_int8_form(graphs[TRAINED_FORM], path)
            derived[INT8] = onnx.load(path)
    differences = [_compare_graphs(form, graphs[form], derived[form]) for form in derived]
    beyond = abs(settings["max_chars"] - params.data.policies.max_chars)
    differences.append(ExportDifference("max_chars", beyond, 0, 0))
    return [*differences, _compare_temperature(folder, settings, rows)]


def _read_validation(folder: Path, settings: dict[str, Any]) -> "EncodedTexts":
    """Encode the validation rows as the candidate did when it was trained."""
    from plumbline.tasks.text_classification.models import encoded_texts, linear, reading, texts

    names = linear.INPUT_NAMES if settings["kind"] == "linear" else reading.INPUT_NAMES
    split = texts.read_training_texts(layout.EXAMPLES, settings["max_chars"]).validation
    return encoded_texts.encode_split(names, split, settings["classes"], load(folder).features)


def _compare_graphs(form: str, found: Any, derived: Any) -> ExportDifference:
    """Compare all that two graphs, of type onnx.ModelProto, consist of; both lose their numbers."""
    tables, expected = _take_tables(found), _take_tables(derived)
    kinds, expected_kinds = (
        {name: (table.dtype, table.shape) for name, table in each.items()}
        for each in (tables, expected)
    )
    if kinds != expected_kinds or found != derived:
        return ExportDifference(f"{form} (nodes)", 1, 0, 0)
    shares = [0.0]
    for name, table in expected.items():
        distances = np.abs(np.subtract(tables[name], table, dtype=np.float64))
        scale = np.abs(table.astype(np.float64)).max(initial=0) or 1.0
        shares.append(distances.max(initial=0) / scale)
    return ExportDifference(form, float(np.max(shares)), ROUNDING, 0)  # of NaN NaN


def _take_tables(model: Any) -> dict[str, np.ndarray]:
    """Take the numbers out of a graph; what names its maker is cleared as well."""
    from onnx import numpy_helper

    tables = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    del model.graph.initializer[:]
    model.producer_name = model.producer_version = ""
    return tables


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
    from plumbline.tasks.text_classification.models import encoder, layers

    body = encoder.rebuild_body(settings["encoder"])
    layers.use_cheap_layers(body)
    return encoder.MeanPooledClassifier(body, num_classes)
