"""Writes what the predictor needs: safetensors, an ONNX graph that takes and gives the state, and config.json."""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract import layout
from plumbline.contract.errors import TrainingError
from plumbline.tasks.signal_extraction.data import Setting
from plumbline.tasks.signal_extraction.models.graph import graph
from plumbline.tasks.signal_extraction.models.networks import Network
from plumbline.tasks.signal_extraction.predictor import load

TOLERANCE = 1e-4  # of components, which are of the order of 1


def save(folder: Path, model: Network, setting: Setting, signals: np.ndarray) -> None:
    """Write `model`; TrainingError if the graph answers otherwise than the model on the windows `signals` [M, L]."""
    model = model.float().cpu().eval()
    save_file(
        {name: tensor.contiguous() for name, tensor in model.state_dict().items()},
        folder / "model.safetensors",
    )
    (folder / "model.onnx").write_bytes(graph(model).SerializeToString(deterministic=True))
    config = {
        "kind": "lstm",
        "frequencies_hz": setting.frequencies_hz,
        "sample_rate_hz": setting.sample_rate_hz,
        "layers": model.lstm.num_layers,
        "hidden": model.lstm.hidden_size,
    }
    layout.write_json(folder / "config.json", config)
    _compare(folder, model, setting, signals)


@torch.inference_mode()
def _compare(folder: Path, model: Network, setting: Setting, signals: np.ndarray) -> None:
    expected = model(torch.from_numpy(signals.astype(np.float32)))[0].numpy()
    asked = np.repeat(signals, len(setting.frequencies_hz), axis=0).tolist()
    frequencies = list(setting.frequencies_hz) * len(signals)
    told = load(folder).predict({"signal": asked, "frequency_hz": frequencies})["component"]
    difference = float(np.abs(np.array(told).reshape(expected.shape) - expected).max())
    if not difference <= TOLERANCE:
        raise TrainingError(
            f"model.onnx: its answers differ from the model's by {difference:.2g}; nothing was saved"
        )
