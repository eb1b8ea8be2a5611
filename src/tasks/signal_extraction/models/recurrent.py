"""The recurrent candidates: window, stateful and film."""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from plumbline.process import ranks
from plumbline.process.files import write_json
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.windows import Windows
from tasks.signal_extraction.models.batches import build_batches, count_windows
from tasks.signal_extraction.models.extractor import Extractor
from tasks.signal_extraction.models.graph import build_graph
from tasks.signal_extraction.models.networks import (
    FilmLstm,
    Network,
    StatefulLstm,
    WindowLstm,
)
from tasks.signal_extraction.params import RecurrentConfig, StatefulConfig
from tasks.signal_extraction.predictor import load

TOLERANCE = 1e-3  # of components, which are of the order of 1
NETWORKS: dict[str, type[Network]] = {
    "stateful": StatefulLstm,
    "window": WindowLstm,
    "film": FilmLstm,
}


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
    model = network_class(num_frequencies, config.hidden, config.layers, config.dropout)
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


@torch.inference_mode()
def compare_graph(config: RecurrentConfig, folder: Path, columns: Columns) -> ExportDifference:
    """Compare the exported graph in the bundle `folder` with the weights beside it."""
    predictor = load(folder)
    known = list(predictor.frequencies_hz)
    model = NETWORKS[config.kind](len(known), config.hidden, config.layers, config.dropout)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    answers = predictor.predict(columns)["component"]
    largest = 0.0
    rows = zip(columns["signal"], columns["frequency_hz"], answers, strict=True)
    for signal, frequency_hz, answer in rows:
        place = int(np.argmin(np.abs(np.array(known) - frequency_hz)))
        samples = torch.tensor([signal], dtype=torch.float32)
        expected = model.eval()(samples)[0][0, place].numpy()
        largest = max(largest, float(np.abs(np.array(answer) - expected).max()))
    return ExportDifference(TRAINED_FORM, largest, TOLERANCE, len(answers))


def _require_one_process() -> None:
    if ranks.get_world_size() > 1:
        raise ParamsError(
            "a stateful candidate carries its state from batch to batch, and cannot be trained by "
            "several processes; take it out of params.yaml, or torchrun out of dvc.yaml"
        )
