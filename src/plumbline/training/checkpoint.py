"""What a killed training needs to resume and end in the same weights, bit by bit.

Safetensors and counters, no pickle.
"""

import hashlib
import json
import re
import shutil
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.training import ranks
from plumbline.training.hardware import Precision

LIBRARIES = ("torch", "lightning", "transformers", "peft", "tokenizers", "numpy")
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


class CheckpointStore:
    """One folder of checkpoints, named by everything that decides the result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._optimizer: dict[str, Any] = {}

    @classmethod
    def open(cls, params: Params, candidate: str) -> "CheckpointStore":
        """Return the store of this training; remove those of the candidate's other trainings."""
        name = f"{candidate}-{compute_key(params, candidate)}"
        if ranks.is_main():
            remove_checkpoints(layout.CHECKPOINTS, candidate, keep=name)
        return cls(layout.CHECKPOINTS / name)

    def load(self, module: torch.nn.Module) -> TrainingState:
        """Put the last checkpoint's weights into `module`; return a new state if there is none.

        A checkpoint that cannot be read counts as none.
        """
        try:
            with safe_open(self.folder / STATE, "pt") as file:
                facts = json.loads(file.metadata()["state"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        except (OSError, SafetensorError):
            return TrainingState()
        weights = {}
        for name, tensor in tensors.items():
            if name.startswith("module/"):
                weights[name.removeprefix("module/")] = tensor
        _copy_into(module, weights)
        self._optimizer = {"facts": facts, "tensors": tensors}
        return TrainingState(**facts["state"])

    def restore(self, optimizer: torch.optim.Optimizer, scheduler: Any) -> None:
        """Restore the moments and learning rates of the checkpoint, if one was loaded."""
        if not self._optimizer:
            return
        facts = self._optimizer["facts"]
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in self._optimizer["tensors"].items():
            if name.startswith("optimizer/"):
                _, index, kind = name.split("/")
                moments.setdefault(int(index), {})[kind] = tensor
        optimizer.load_state_dict({"state": moments, "param_groups": facts["groups"]})
        if scheduler:
            scheduler.load_state_dict(facts["scheduler"])
        self._optimizer = {}

    def save(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
        state: TrainingState,
    ) -> None:
        """Write everything, whole or not at all."""
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
        with layout.write_aside(self.folder / STATE) as aside:
            save_file(_detach(tensors), aside, metadata={"state": json.dumps(facts)})

    def save_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Keep the weights after `epoch`, beside those that the last checkpoint names as best."""
        if ranks.is_main():
            with layout.write_aside(self._locate_best(epoch)) as aside:
                save_file(_detach(_select_trained(module)), aside)

    def load_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Put the weights after `epoch` into `module`."""
        _copy_into(module, load_file(self._locate_best(epoch)))

    def drop_best(self, keep: int) -> None:
        """Remove the weights of all epochs but one."""
        if ranks.is_main():
            for path in self.folder.glob("best-*.safetensors"):
                if path != self._locate_best(keep):
                    path.unlink()

    def _locate_best(self, epoch: int) -> Path:
        return self.folder / f"best-{epoch}.safetensors"


def compute_key(params: Params, candidate: str) -> str:
    """Return a digest of everything that decides the weights.

    Parameters, examples, code, libraries, threads and processes.
    """
    parts = {
        "candidate": params.candidates[candidate].model_dump(mode="json"),
        "training": params.training.model_dump(mode="json"),
        "seed": params.seed,
        "data": layout.digest(layout.EXAMPLES),
        "code": [layout.digest(path) for path in _list_code(params.task)],
        "libraries": [version(name) for name in LIBRARIES],
        "machine": [torch.get_num_threads(), ranks.get_world_size()],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def remove_checkpoints(folder: Path, candidate: str, keep: str | None) -> None:
    """Delete the checkpoints of `candidate` in `folder`, but for the one named `keep`."""
    for path in folder.glob(f"{candidate}-*"):
        if re.fullmatch(re.escape(candidate) + "-[0-9a-f]{16}", path.name) and path.name != keep:
            shutil.rmtree(path)


def _list_code(task: str) -> list[Path]:
    training = Path(__file__).parent
    task_folder = training.parent / "tasks" / task
    return [*sorted(training.rglob("*.py")), *sorted(task_folder.rglob("*.py"))]


def _select_trained(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return what training changes: frozen weights are read from their source again."""
    frozen = {name for name, weight in module.named_parameters() if not weight.requires_grad}
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def _copy_into(module: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    state_dict = module.state_dict()
    for name, tensor in tensors.items():
        state_dict[name].copy_(tensor)


def _detach(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
