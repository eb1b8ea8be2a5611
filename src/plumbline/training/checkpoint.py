"""What a killed training needs to resume and end in the same weights, bit by bit.

Safetensors and counters, no pickle.
"""

import hashlib
import json
import socket
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from plumbline.contract import layout
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.process import ranks
from plumbline.process.files import digest_path, write_aside
from plumbline.training import group
from plumbline.training.checkpoint_folders import remove_checkpoints
from plumbline.training.code_digest import digest_code
from plumbline.training.hardware import Precision

LIBRARIES = ("torch", "transformers", "peft", "tokenizers", "numpy")
STATE = "state.safetensors"


@dataclass
class TrainingState:
    """How far training has come."""

    precision: Precision | None = None
    step: int = 0  # optimizer steps, of all epochs
    epoch: int = 0  # epochs finished
    batch: int = 0  # batches of the running epoch
    num_examples: int = 0
    loss: float = 0.0  # summed over the batches of the running epoch
    initial: float = float("inf")  # the monitored loss before the first step
    best: float = float("inf")
    best_epoch: int = 0
    finished: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass
class Checkpoint:
    """What was read of the last checkpoint."""

    state: TrainingState
    weights: dict[str, torch.Tensor]
    moments: dict[int, dict[str, torch.Tensor]]  # of the optimizer, by the number of the weight
    groups: list[dict[str, Any]]  # of the optimizer
    scheduler: dict[str, Any] | None


class CheckpointStore:
    """One folder of checkpoints, named by everything that decides the result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: Checkpoint | None = None  # until the optimizer is there

    @classmethod
    def open(cls, params: Params, candidate: str) -> "CheckpointStore":
        """Return the store of this training; remove those of the candidate's other trainings.

        Raises TrainingError, in all processes, where one of them has other data, params or code.
        """
        inputs = _collect_inputs(params, candidate)
        _require_equal(inputs)
        name = f"{candidate}-{_compute_key(inputs)}"
        remove_checkpoints(candidate, keep=name)
        return cls(layout.CHECKPOINTS / name)

    def load(self, module: torch.nn.Module) -> TrainingState:
        """Put the last checkpoint's weights into `module`; return a new state if there is none.

        All processes get what the first one reads. Raises TrainingError for a damaged file.
        """
        self._found = group.broadcast(self._read() if ranks.is_main() else None)
        if self._found is None:
            return TrainingState()
        module.load_state_dict(self._found.weights, strict=False)
        return self._found.state

    def _read(self) -> "Checkpoint | None":
        path = self.folder / STATE
        if not path.exists():
            return None
        tensors, text = _load_tensors(path)
        facts = json.loads(text)
        weights = {}
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            part, rest = name.split("/", 1)
            if part == "module":
                weights[rest] = tensor
            else:
                index, kind = rest.split("/")
                moments.setdefault(int(index), {})[kind] = tensor
        state = TrainingState(**facts["state"])
        return Checkpoint(state, weights, moments, facts["groups"], facts["scheduler"])

    def restore(self, optimizer: torch.optim.Optimizer, scheduler: Any) -> None:
        """Restore the moments and learning rates of the checkpoint, if one was loaded."""
        if not self._found:
            return
        optimizer.load_state_dict(
            {"state": self._found.moments, "param_groups": self._found.groups}
        )
        if scheduler:
            scheduler.load_state_dict(self._found.scheduler)
        self._found = None

    def save(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
        state: TrainingState,
    ) -> None:
        """Write everything, whole or not at all; the first process does."""
        if not ranks.is_main():
            return
        optimizer_state = optimizer.state_dict()
        tensors = {f"module/{name}": tensor for name, tensor in _select_trained(module).items()}
        for index, moments in optimizer_state["state"].items():
            for kind, tensor in moments.items():
                tensors[f"optimizer/{index}/{kind}"] = tensor
        facts = {
            "state": asdict(state),
            "groups": optimizer_state["param_groups"],
            "scheduler": scheduler.state_dict() if scheduler else None,
        }
        with write_aside(self.folder / STATE) as aside:
            _save_tensors(tensors, aside, json.dumps(facts))

    def save_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Keep the weights after `epoch`, beside those that the last checkpoint names as best."""
        if ranks.is_main():
            with write_aside(self._locate_best(epoch)) as aside:
                _save_tensors(_select_trained(module), aside)

    def load_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Put the weights after `epoch` into the first process's `module`, which is published."""
        if ranks.is_main():
            weights, _ = _load_tensors(self._locate_best(epoch))
            module.load_state_dict(weights, strict=False)

    def drop_best(self, keep: int) -> None:
        """Remove the weights of all epochs but one."""
        if ranks.is_main():
            for path in self.folder.glob("best-*.safetensors"):
                if path != self._locate_best(keep):
                    path.unlink()

    def _locate_best(self, epoch: int) -> Path:
        return self.folder / f"best-{epoch}.safetensors"


def _collect_inputs(params: Params, candidate: str) -> dict[str, Any]:
    """Collect what decides the weights on any machine: parameters, examples, code, libraries."""
    return {
        "candidate": params.candidates[candidate].model_dump(mode="json"),
        "training": params.training.model_dump(mode="json"),
        "seed": params.seed,
        "data": digest_path(layout.EXAMPLES),
        "control": params.control.max_rows if layout.is_control(candidate) else None,
        "code": digest_code(params.task),
        "libraries": [version(name) for name in LIBRARIES],
    }


def _compute_key(inputs: dict[str, Any]) -> str:
    """Return a digest of everything that decides the weights: threads and processes too."""
    parts = inputs | {"machine": [torch.get_num_threads(), ranks.get_world_size()]}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _require_equal(inputs: dict[str, Any]) -> None:
    (first_host, expected), *others = group.gather((socket.gethostname(), inputs))
    for rank, (host, found) in enumerate(others, start=1):
        differing = [name for name, value in expected.items() if found[name] != value]
        if differing:
            raise TrainingError(
                f"process {rank} on {host} differs from the first one, on {first_host}, in "
                f"{', '.join(differing)}; give all machines the same checkout and data"
            )


def _save_tensors(tensors: dict[str, torch.Tensor], path: Path, facts: str = "") -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(plain, path, metadata={"facts": facts})


def _load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], str]:
    """Read what `_save_tensors` wrote."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return tensors, file.metadata()["facts"]
    except (SafetensorError, OSError) as error:
        raise TrainingError(
            f"{path}: cannot be read ({error}); remove {path.parent} and run the same command "
            "again: training starts over"
        ) from None


def _select_trained(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return what training changes: frozen weights are read from their source again."""
    frozen = {name for name, weight in module.named_parameters() if not weight.requires_grad}
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}
