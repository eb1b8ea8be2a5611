"""Writes what the predictor needs: safetensors, config.json, an ONNX graph with its state."""

from pathlib import Path

from safetensors.torch import save_file

from plumbline.process.files import write_json
from tasks.signal_extraction.data import Setting
from tasks.signal_extraction.models.graph import build_graph
from tasks.signal_extraction.models.networks import Network


def save_network(folder: Path, model: Network, setting: Setting) -> None:
    """Write `model` as weights, graph and config."""
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
