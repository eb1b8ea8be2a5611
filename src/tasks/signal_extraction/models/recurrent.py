"""The recurrent candidates: stateful and film."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from plumbline.contract.errors import ParamsError
from plumbline.contract.learning_rate import decay_by_cosine
from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.records import ExportDifference, Learner
from plumbline.process import ranks
from plumbline.process.files import read_json, write_json
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.windows import Windows
from tasks.signal_extraction.models.batches import Batch, build_batches, count_windows
from tasks.signal_extraction.models.graph import build_graph
from tasks.signal_extraction.models.networks import FilmLstm, Network, State, StatefulLstm
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


class Extractor(torch.nn.Module):
    """Trains `model`; with `num_carried` > 0 windows a batch, a chunk starts from the last state.

    Truncated backpropagation through time (Williams and Peng 1990): gradients end where a chunk
    starts. The states are buffers, so that a checkpoint holds them and a killed training continues
    in the middle of a window.
    """

    hidden: torch.Tensor
    cell: torch.Tensor

    def __init__(
        self, model: Network, config: RecurrentConfig, num_steps: int, num_carried: int = 0
    ) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps
        self._carries = num_carried > 0
        if self._carries:
            size = (config.layers, num_carried * model.rows_a_window, config.hidden)
            self.register_buffer("hidden", torch.zeros(size))
            self.register_buffer("cell", torch.zeros(size))

    def training_step(self, batch: Batch) -> torch.Tensor:
        """The mean squared error of a batch of chunks."""
        before = self._read_state(batch["first"]) if self._carries else None
        components, (hidden, cell) = self.model(batch["signals"], before)
        if self._carries:
            self.hidden.copy_(hidden.detach())
            self.cell.copy_(cell.detach())
        return functional.mse_loss(components, batch["components"])

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the squared error of a batch of whole windows, times its rows."""
        components, _ = self.model(batch["signals"])
        return {"loss": functional.mse_loss(components, batch["components"]) * len(components)}

    def configure_optimizers(self) -> Any:
        """Adam (Kingma and Ba 2015); the learning rate rises in a line, then falls as a cosine.

        Loshchilov and Hutter 2017, arXiv:1608.03983, without restarts.
        """
        optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self._config.learning_rate, fused=True
        )
        num_warmup = self._config.warmup * self._num_steps
        return decay_by_cosine(optimizer, self._num_steps, num_warmup)

    def _read_state(self, first: torch.Tensor) -> State:
        """Return the carried states, zero for windows of which this is the first chunk."""
        continues = (~first).repeat_interleave(self.model.rows_a_window)
        factor = continues.to(self.hidden.dtype)[None, :, None]
        return self.hidden * factor, self.cell * factor
