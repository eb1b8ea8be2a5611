"""The candidates that learn by gradient, from their parameters to a Learner."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional

from plumbline.contract.learning_rate import decay_by_cosine
from plumbline.contract.records import Learner
from plumbline.process.files import write_json
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.models.batches import Batch, Encode, build_batches
from tasks.sequence_bayes.models.layers import CountLayers, SymbolLayers, TransformerLayers
from tasks.sequence_bayes.params import CausalConfig, CountsConfig, NetworkConfig
from tasks.sequence_bayes.predictor import build_features

Config = CountsConfig | CausalConfig


class SymbolModule(torch.nn.Module):
    """Trains `model`, whose logits [B, T, V] predict the symbol at each place."""

    def __init__(self, model: SymbolLayers, config: NetworkConfig, num_steps: int) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean cross entropy of a batch, in nats per symbol."""
        logits = self.model(batch["inputs"])
        return functional.cross_entropy(logits.flatten(0, 1), batch["symbols"].flatten())

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss of a batch, times its rows."""
        return {"loss": self.training_step(batch) * len(batch["symbols"])}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine."""
        config = self._config
        optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate, fused=True)
        num_warmup = config.warmup * self._num_steps
        return decay_by_cosine(optimizer, self._num_steps, num_warmup)


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
        save_network(folder, module.model, values)

    return Learner(
        save=save,
        module=module,
        data=data,
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


def save_network(folder: Path, model: SymbolLayers, values: dict[str, Any]) -> None:
    """Write weights and config."""
    weights = {
        name: tensor.contiguous() for name, tensor in model.float().cpu().state_dict().items()
    }
    save_file(weights, folder / "model.safetensors")
    write_json(folder / "config.json", values)


def _describe_network(config: Config, prior: SequencePrior) -> dict[str, Any]:
    """Return what predictor.py needs to know beside the weights."""
    values: dict[str, Any] = {
        "kind": config.kind,
        "num_symbols": prior.num_symbols,
        "max_history": prior.max_history,
    }
    if isinstance(config, CausalConfig):
        values |= {"layers": config.layers, "heads": config.heads}
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
