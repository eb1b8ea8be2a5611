"""The candidates that learn by gradient, from their parameters to a Learner."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract.errors import TrainingError
from plumbline.contract.records import Learner
from plumbline.process.files import write_json
from tasks.sequence_bayes.data import SequencePrior, list_inputs
from tasks.sequence_bayes.models.batches import Encode, build_batches
from tasks.sequence_bayes.models.layers import (
    CountLayers,
    SymbolLayers,
    TransformerLayers,
)
from tasks.sequence_bayes.models.module import SymbolModule
from tasks.sequence_bayes.params import (
    CausalConfig,
    CountsConfig,
)
from tasks.sequence_bayes.predictor import build_features, load

TOLERANCE = 1e-4  # of a probability
NUM_COMPARED = 64  # sequences on which the predictor must answer as the network

Config = CountsConfig | CausalConfig


def build_network_learner(
    config: Config, seed: int, prior: SequencePrior, train: np.ndarray, validation: np.ndarray
) -> Learner:
    """Return a network with random weights and its batches."""
    values = _describe_network(config, prior)
    encode = _choose_encoder(config, values)
    data = build_batches(prior, train, validation, encode, config, seed)
    torch.manual_seed(seed)
    model = _build_layers(config, prior, encode)
    module = SymbolModule(model, config, len(data.sampler) * config.max_epochs)

    def save(folder: Path) -> None:
        save_network(folder, module.model, values, encode, validation[:NUM_COMPARED])

    return Learner(
        save=save,
        module=module,
        data=data,
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


def save_network(
    folder: Path,
    model: SymbolLayers,
    values: dict[str, Any],
    encode: Encode,
    sequences: np.ndarray,
) -> None:
    """Write weights and config; TrainingError if the predictor answers differently from `model`."""
    model = model.float().cpu().eval()
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    write_json(folder / "config.json", values)
    with torch.inference_mode():
        logits = model(encode(sequences[:, :-1]))
    expected = logits.double().softmax(2).numpy()
    predictor = load(folder)
    answers = predictor.predict(list_inputs(sequences), orders=1, all_positions=True)
    difference = float(np.abs(np.array(answers["predictive"]) - expected).max())
    if not difference <= TOLERANCE:
        raise TrainingError(
            f"model.safetensors: the predictor's answers differ from the model's by "
            f"{difference:.2g}; nothing was saved"
        )


def _describe_network(config: Config, prior: SequencePrior) -> dict[str, Any]:
    """Return what predictor.py needs to know beside the weights."""
    values: dict[str, Any] = {
        "kind": config.kind,
        "num_symbols": prior.num_symbols,
        "max_history": prior.max_history,
    }
    if isinstance(config, CausalConfig):
        values |= {
            "layers": config.layers,
            "heads": config.heads,
            "orders": config.orders,
        }
    return values


def _choose_encoder(config: Config, values: dict[str, Any]) -> Encode:
    if isinstance(config, CausalConfig):
        return partial(_encode_symbols, values["num_symbols"])
    return partial(_encode_counts, values)


def _build_layers(config: Config, prior: SequencePrior, encode: Encode) -> SymbolLayers:
    if isinstance(config, CausalConfig):
        return TransformerLayers(config, prior.num_symbols, prior.length)
    num_features = encode(np.zeros((1, 1), np.uint8)).shape[2]
    return CountLayers(num_features, config.hidden, prior.num_symbols)


def _encode_counts(values: dict[str, Any], histories: np.ndarray) -> torch.Tensor:
    """Return features [B, T, F] of histories [B, T - 1]."""
    return torch.from_numpy(build_features(histories, values))


def _encode_symbols(start: int, histories: np.ndarray) -> torch.Tensor:
    """Return histories [B, T - 1] behind a start symbol [B, T]."""
    padded = np.pad(histories.astype(np.int64), ((0, 0), (1, 0)), constant_values=start)
    return torch.from_numpy(padded)
