"""The candidates that learn by gradient, from their parameters to a Learner."""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from plumbline.contract.records import Learner
from plumbline.process.files import write_json
from tasks.filter_design.models.batches import TensorRows, build_batches
from tasks.filter_design.models.diffusion import DiffusionModule
from tasks.filter_design.models.gan import GanModule
from tasks.filter_design.models.proposer import ProposerModule
from tasks.filter_design.models.regression import RegressionModule
from tasks.filter_design.models.rows import (
    DesignRows,
    Scales,
    add_mirrors,
    measure_scales,
    read_rows,
    select_rows,
)
from tasks.filter_design.params import DiffusionConfig, GanConfig, RegressionConfig

Config = RegressionConfig | DiffusionConfig | GanConfig


def build_network_learner(config: Config, seed: int, examples: Path) -> Learner:
    """Return a network with random weights and its batches.

    Diffusion and GAN learn from the designs that meet their masks; regression from all rows.
    """
    train, validation = read_rows(examples, "train"), read_rows(examples, "validation")
    scales = measure_scales(select_rows(train, train.meets))
    if not isinstance(config, RegressionConfig):
        train = add_mirrors(select_rows(train, train.meets))
    if isinstance(config, DiffusionConfig):
        validation = select_rows(validation, validation.meets)
    torch.manual_seed(seed)
    module = _build_module(config, train.features.shape[1], scales)

    def save(folder: Path) -> None:
        save_network(folder, module, config, scales)

    return Learner(
        save=save,
        module=module,
        data=build_batches(
            _build_rows(train, scales), _build_rows(validation, scales), config, seed
        ),
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


def save_network(folder: Path, module: ProposerModule, config: Config, scales: Scales) -> None:
    """Write the weights that answer, and what the predictor has to know of params."""
    named = {name.removeprefix("layers."): tensor for name, tensor in _list_weights(module).items()}
    weights = {f"model.{name}": tensor for name, tensor in named.items()}
    save_file(weights | scales.list_weights(), folder / "model.safetensors")
    kept = ("kind", "calls", "layers", "steps", "noise")
    values = {name: value for name, value in config.model_dump().items() if name in kept}
    write_json(folder / "config.json", values)


def _build_module(config: Config, num_features: int, scales: Scales) -> ProposerModule:
    if isinstance(config, DiffusionConfig):
        return DiffusionModule(config, num_features)
    if isinstance(config, GanConfig):
        return GanModule(config, num_features, scales)
    return RegressionModule(config, num_features, scales)


def _build_rows(rows: DesignRows, scales: Scales) -> TensorRows:
    features, coordinates = scales.normalise(rows)
    arrays: dict[str, np.ndarray] = {
        "features": features,
        "coordinates": coordinates,
        "used": rows.used,
    }
    arrays |= {"groups": rows.groups, **rows.masks._asdict()}
    return TensorRows({name: torch.from_numpy(array) for name, array in arrays.items()})


def _list_weights(module: ProposerModule) -> dict[str, np.ndarray]:
    weights = module.list_weights()
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in weights.items()}
