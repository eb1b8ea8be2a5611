"""The recurrent candidates: stateful and film."""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import ExportDifference, Learner
from plumbline.process import ranks
from plumbline.process.files import read_json, write_json
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.windows import Windows
from tasks.signal_extraction.models.batches import build_batches, count_windows
from tasks.signal_extraction.models.extractor import Extractor
from tasks.signal_extraction.models.graph import build_graph
from tasks.signal_extraction.models.networks import FilmLstm, Network, StatefulLstm
from tasks.signal_extraction.params import RecurrentConfig, StatefulConfig

GRAPH = "model.onnx"
NETWORKS: dict[str, type[Network]] = {"stateful": StatefulLstm, "film": FilmLstm}


def build_recurrent_learner(
    config: RecurrentConfig, seed: int, train: Windows, validation: Windows
) -> Learner:
    """Return an LSTM with random weights and its batches."""
    chunk, num_carried = train.setting.window, 0
    if isinstance(config, StatefulConfig):
        chunk = config.chunk
        _require_one_process()
        num_carried = min(config.batch_size, count_windows(train, config))
    data = build_batches(train, validation, config, chunk, seed)
    torch.manual_seed(seed)
    num_frequencies = len(train.setting.frequencies_hz)
    network_class = NETWORKS[config.kind]
    model = network_class(num_frequencies, config.hidden, config.layers)
    num_steps = len(data.sampler) * config.max_epochs
    module = Extractor(model, config, num_steps, num_carried)

    def save(folder: Path) -> None:
        save_network(folder, module.model, train.setting)

    return Learner(
        save=save,
        module=module,
        data=data,
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


def save_network(folder: Path, model: Network, setting: Setting) -> None:
    """Write `model` as weights, graph and config."""
    model = model.float().cpu().eval()
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / GRAPH).write_bytes(_encode_graph(model))
    config = {
        "kind": "lstm",
        "frequencies_hz": setting.frequencies_hz,
        "sample_rate_hz": setting.sample_rate_hz,
        "layers": model.lstm.num_layers,
        "hidden": model.lstm.hidden_size,
    }
    write_json(folder / "config.json", config)


def compare_graph(config: RecurrentConfig, folder: Path) -> ExportDifference:
    """Compare the graph in the bundle `folder` with the one that follows from the weights there."""
    settings = read_json(folder / "config.json")
    num_frequencies = len(settings["frequencies_hz"])
    model = NETWORKS[config.kind](num_frequencies, config.hidden, config.layers)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    is_other = _encode_graph(model) != (folder / GRAPH).read_bytes()
    return ExportDifference(TRAINED_FORM, float(is_other), 0, 0)


def _encode_graph(model: Network) -> bytes:
    graph: bytes = build_graph(model).SerializeToString(deterministic=True)
    return graph


def _require_one_process() -> None:
    if ranks.get_world_size() > 1:
        raise ParamsError(
            "a stateful candidate carries its state from batch to batch, and cannot be trained by "
            "several processes; take it out of params.yaml, or torchrun out of dvc.yaml"
        )
