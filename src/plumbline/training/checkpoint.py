"""What a killed training needs to go on to the very same weights: safetensors and counters, no pickle."""

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
from plumbline.training.device import Precision

LIBRARIES = ("torch", "lightning", "transformers", "peft", "tokenizers", "numpy")
STATE = "state.safetensors"


@dataclass
class State:
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


class Store:
    """One folder of checkpoints, named by everything that decides the result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._optimizer: dict[str, Any] = {}

    @classmethod
    def open(cls, params: Params, candidate: str) -> "Store":
        """The store of this very training; those of the candidate's other trainings are removed."""
        name = f"{candidate}-{key(params, candidate)}"
        if ranks.is_main():
            remove(layout.CHECKPOINTS, candidate, keep=name)
        return cls(layout.CHECKPOINTS / name)

    def load(self, module: torch.nn.Module) -> State:
        """Put the last checkpoint's weights into `module`; a fresh state where there is none that can be read."""
        try:
            with safe_open(self.folder / STATE, "pt") as file:
                facts = json.loads(file.metadata()["state"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        except (OSError, SafetensorError):
            return State()
        _put(
            module,
            {
                name.removeprefix("module/"): t
                for name, t in tensors.items()
                if name.startswith("module/")
            },
        )
        self._optimizer = {"facts": facts, "tensors": tensors}
        return State(**facts["state"])

    def restore(self, optimizer: torch.optim.Optimizer, scheduler: Any) -> None:
        """Put the last checkpoint's moments and learning rates in place, if one was loaded."""
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
        state: State,
    ) -> None:
        """Write everything, whole or not at all."""
        if not ranks.is_main():
            return
        held = optimizer.state_dict()
        tensors = {f"module/{name}": tensor for name, tensor in _learned(module).items()}
        for index, moments in held["state"].items():
            tensors |= {f"optimizer/{index}/{kind}": tensor for kind, tensor in moments.items()}
        facts = {"state": asdict(state), "groups": held["param_groups"]}
        facts["scheduler"] = scheduler.state_dict() if scheduler else None
        with layout.written(self.folder / STATE) as aside:
            save_file(_detached(tensors), aside, metadata={"state": json.dumps(facts)})

    def save_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Keep the weights after `epoch`, beside those of the epoch that the last checkpoint names as the best."""
        if ranks.is_main():
            with layout.written(self._best(epoch)) as aside:
                save_file(_detached(_learned(module)), aside)

    def load_best(self, module: torch.nn.Module, epoch: int) -> None:
        """Put the weights after `epoch` in place."""
        _put(module, load_file(self._best(epoch)))

    def drop_best(self, keep: int) -> None:
        """Remove the weights of all epochs but one."""
        if ranks.is_main():
            for path in self.folder.glob("best-*.safetensors"):
                if path != self._best(keep):
                    path.unlink()

    def _best(self, epoch: int) -> Path:
        return self.folder / f"best-{epoch}.safetensors"


def key(params: Params, candidate: str) -> str:
    """A digest of all that decides the weights: parameters, examples, code, libraries, threads and processes."""
    parts = {
        "candidate": params.candidates[candidate].model_dump(mode="json"),
        "training": params.training.model_dump(mode="json"),
        "seed": params.seed,
        "data": layout.digest(layout.EXAMPLES),
        "code": [layout.digest(path) for path in _code(params.task)],
        "libraries": [version(name) for name in LIBRARIES],
        "machine": [torch.get_num_threads(), ranks.world_size()],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def remove(folder: Path, candidate: str, keep: str | None) -> None:
    """Delete the checkpoints of `candidate` in `folder`, but for the one named `keep`."""
    for path in folder.glob(f"{candidate}-*"):
        if re.fullmatch(re.escape(candidate) + "-[0-9a-f]{16}", path.name) and path.name != keep:
            shutil.rmtree(path)


def _code(task: str) -> list[Path]:
    here = Path(__file__).parent
    return [
        path
        for folder in (here, here.parent / "tasks" / task)
        for path in sorted(folder.rglob("*.py"))
    ]


def _learned(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What training changes: frozen weights come back from where they came from."""
    frozen = {name for name, weight in module.named_parameters() if not weight.requires_grad}
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def _put(module: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    own = module.state_dict()
    for name, tensor in tensors.items():
        own[name].copy_(tensor)


def _detached(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
