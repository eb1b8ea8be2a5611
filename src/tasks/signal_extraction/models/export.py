"""Writes what the predictor needs: safetensors, config.json, an ONNX graph with its state."""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract.errors import TrainingError
from plumbline.process.files import write_json
from tasks.signal_extraction.data import Setting
from tasks.signal_extraction.models.graph import build_graph
from tasks.signal_extraction.models.networks import Network
from tasks.signal_extraction.predictor import load

TOLERANCE = 1e-4  # of components, which are of the order of 1


def save_network(folder: Path, model: Network, setting: Setting, signals: np.ndarray) -> None:
    """Write `model` as weights, graph and config.

    Raises TrainingError if the graph's answers to the windows `signals` [M, L] differ from it.
    """
    model = model.float().cpu().eval()
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    graph = build_graph(model).SerializeToString(deterministic=True)
    (folder / "model.onnx").write_bytes(graph)
    config = {
        "kind": "lstm",
        "frequencies_hz": setting.frequencies_hz,
        "sample_rate_hz": setting.sample_rate_hz,
        "layers": model.lstm.num_layers,
        "hidden": model.lstm.hidden_size,
    }
    write_json(folder / "config.json", config)
    _compare_answers(folder, model, setting, signals)


@torch.inference_mode()
def _compare_answers(folder: Path, model: Network, setting: Setting, signals: np.ndarray) -> None:
    expected = model(torch.from_numpy(signals.astype(np.float32)))[0].numpy()
    columns = {
        "signal": np.repeat(signals, len(setting.frequencies_hz), axis=0).tolist(),
        "frequency_hz": list(setting.frequencies_hz) * len(signals),
    }
    answers = np.array(load(folder).predict(columns)["component"])
    difference = float(np.abs(answers.reshape(expected.shape) - expected).max())
    if not difference <= TOLERANCE:
        raise TrainingError(
            f"model.onnx: its answers differ from the model's by {difference:.2g}; "
            "nothing was saved"
        )
