"""Does the graph of a bundle answer as the weights beside them? Asked again when it is evaluated.

Of a model of sets of labels, the threshold of each label is chosen again too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import ExportDifference
from plumbline.contract.task import Columns
from plumbline.process.files import read_json
from plumbline.tasks.text_classification.data import read_inputs, read_label_sets
from plumbline.tasks.text_classification.models.label_decisions import (
    choose_label_thresholds,
    encode_sets,
)
from plumbline.tasks.text_classification.params import (
    EnsembleConfig,
    LinearConfig,
    ModelConfig,
    ModuleConfig,
    TextParams,
    TransformerConfig,
)
from plumbline.tasks.text_classification.predictor import (
    EncodedText,
    TfidfFeatures,
    TokenFeatures,
    load,
    open_graph,
    read_idf,
)

if TYPE_CHECKING:
    import torch

WEIGHTS, CONFIG = "model.safetensors", "config.json"
TOLERANCE = 1e-3  # of logits: ten times that of export, which was on the same machine
THRESHOLD_TOLERANCE = 1e-3  # of a probability


def compare_export(
    params: TextParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare the logits of the graph of `fp32` with those of the trained weights, for some texts.

    What an int8 form answers is compared with `fp32` by the gate parity, on every test row. Sealed
    thresholds of labels are compared with those that the validation rows give.
    """
    config = read_json(folder / CONFIG)
    if "forms" not in config:  # the predictor of the task answers from nothing else
        return []
    from plumbline.tasks.text_classification.models import encoded_texts, logits

    path = folder / config["forms"][TRAINED_FORM]
    ids, values = (argument.name for argument in open_graph(path).get_inputs())
    texts = _encode_texts(folder, config, columns["text"])
    rows = encoded_texts.store_encoded((ids, values), texts)
    found = logits.compute_graph_logits(path, TRAINED_FORM, rows)
    expected = logits.compute_model_logits(_load_model(params, candidate, folder), rows)
    largest = float(np.abs(found - expected).max())
    limit = TOLERANCE * max(1.0, float(np.abs(expected).max()))
    differences = [ExportDifference(TRAINED_FORM, largest, limit, len(rows))]
    if "thresholds" in config:
        differences.append(_compare_thresholds(folder, config))
    return differences


def _compare_thresholds(folder: Path, config: Any) -> ExportDifference:
    """Compare the threshold of each label with the one chosen again, for the form that is served.

    The difference returned is that of the label that differs most.
    """
    classes = config["classes"]
    probabilities = load(folder).compute_probabilities(
        read_inputs(layout.EXAMPLES, "validation")["text"]
    )
    sets = read_label_sets(layout.EXAMPLES, "validation")
    expected = choose_label_thresholds(probabilities, encode_sets(sets, classes))
    distances = np.abs(np.subtract(config["thresholds"], expected))
    worst = int(distances.argmax())
    return ExportDifference(
        form=f"the threshold of {classes[worst]}",
        largest=float(distances[worst]),
        limit=THRESHOLD_TOLERANCE,
        num_rows=len(sets),
        reference="the one that validation gives",
        rows="validation rows",
    )


def _encode_texts(folder: Path, config: Any, texts: Sequence[str]) -> list[EncodedText]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    if config["kind"] == "linear":
        weights = load_file(folder / WEIGHTS)
        return TfidfFeatures(config["vocabulary"], read_idf(weights)).encode_texts(texts)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return TokenFeatures(tokenizer).encode_texts(texts)


def _load_model(params: TextParams, candidate: str, folder: Path) -> "torch.nn.Module":
    """Build the model that params describe, with the weights of the bundle."""
    from safetensors.torch import load_file

    weights = load_file(folder / WEIGHTS)
    config = params.candidates[candidate]
    if not isinstance(config, EnsembleConfig):
        return _build_model(config, folder, weights)
    from plumbline.tasks.text_classification.models.ensemble import EncoderEnsemble, LinearEnsemble

    members = []
    for number in range(config.members):
        prefix = f"members.{number}."
        own = {
            name.removeprefix(prefix): weights.pop(name)
            for name in list(weights)
            if name.startswith(prefix)
        }
        members.append(_build_model(config.member, folder, own))
    if weights:
        raise ValueError(f"{folder / WEIGHTS}: more members than the {config.members} of params")
    is_linear = isinstance(config.member, LinearConfig)
    return (LinearEnsemble(members) if is_linear else EncoderEnsemble(members)).eval()


def _build_model(
    config: ModelConfig, folder: Path, weights: "dict[str, torch.Tensor]"
) -> "torch.nn.Module":
    if isinstance(config, LinearConfig):
        from plumbline.tasks.text_classification.models.linear import LinearTfidf

        num_grams, num_classes = weights["table"].shape
        model: torch.nn.Module = LinearTfidf(num_grams - 1, num_classes, weights["idf"].numpy())
    elif isinstance(config, ModuleConfig):
        from tokenizers import Tokenizer

        from plumbline.tasks.text_classification.models.own_module import build_module

        num_tokens = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
        num_classes = len(read_json(folder / CONFIG)["classes"])
        model = build_module(config, num_tokens, num_classes)
    else:
        from plumbline.tasks.text_classification.models import encoder, layers

        num_classes = len(weights["head.bias"])
        if isinstance(config, TransformerConfig):
            rows = len(weights["body.embeddings.word_embeddings.weight"])
            body = encoder.build_body(config, rows)
        else:
            body = encoder.build_pretrained_body(read_json(folder / CONFIG)["encoder"])
        model = encoder.MeanPooledClassifier(body, num_classes)
        layers.use_cheap_layers(model.body)
    model.load_state_dict(weights)
    return model.eval()
