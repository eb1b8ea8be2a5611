"""What each process of a torchrun does in test_sharding: it trains tiny encoders in two ways.

    torchrun ... tests/support/shared_training.py FOLDER CASE ... [--kill RANK STEP] [--break STEP]
        [--no-bundle] [--only-shared]

FOLDER has `examples`, and a pretrained encoder by the name of each of its kinds that is needed. Of
each case one training has all weights in each process (ddp), and one shares them. What they end in
is written to FOLDER/rank<n>.json. With --kill, one process dies before a step of the shared
training; with --break, its model fails. With --only-shared there is no other training.
"""

import argparse
import hashlib
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tests.support.small_texts import SilentLog, small_params
from torch.distributed.tensor import DTensor

from plumbline.contract import layout, ranks
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.models.architectures import SUPPORTED
from plumbline.tasks.text_classification.models.classifier import TextClassifier
from plumbline.tasks.text_classification.params import PretrainedConfig, TextParams
from plumbline.training import fitting
from plumbline.training.loop import TrainingLoop

LORA = {"rank": 4, "alpha": 8.0, "dropout": 0.1}
# More than any norm of these gradients, and less than most.
UNCLIPPED, CLIPPED = 1e6, 0.1
CASES: dict[str, dict[str, Any]] = {
    "transformer": {},
    "clipped": {"gradient_clip": CLIPPED},
    "ensemble": {},
    "bert": {"lora": None},
    "lora": {"lora": LORA},
}
ENCODERS: dict[str, dict[str, Any]] = {kind: {"lora": None} for kind in SUPPORTED}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="+", choices=CASES | ENCODERS)
    parser.add_argument("--no-bundle", action="store_true")
    parser.add_argument("--only-shared", action="store_true")
    parser.add_argument("--kill", nargs=2, type=int, default=(-1, -1), metavar=("RANK", "STEP"))
    parser.add_argument("--break", dest="broken", type=int, default=-1, metavar="STEP")
    arguments = parser.parse_args()
    steps = _watch_steps()
    results: dict[str, Any] = {}
    for case in arguments.cases:
        has_bundle = not arguments.no_bundle
        train = partial(_train, arguments.folder, case, steps=steps, has_bundle=has_bundle)
        results[case] = {} if arguments.only_shared else {"ddp": train("ddp")}
        _plant_faults(*arguments.kill, arguments.broken)
        results[case]["shared"] = train("shared")
    path = arguments.folder / f"rank{ranks.get_rank()}.json"
    path.write_text(json.dumps(results))


def _train(
    folder: Path, case: str, way: str, steps: list[int], *, has_bundle: bool
) -> dict[str, Any]:
    """Train a case in a folder of its own; return what this process ends in."""
    own = folder / f"{case}-{way}"
    own.mkdir(exist_ok=True)
    os.chdir(own)
    steps.clear()
    name, params = _make_params(folder, case, fsdp=way == "shared")
    learner = build_learner(params, name, folder / "examples")
    fitting.fit(learner, params, name, SilentLog(), must_learn=False)
    result: dict[str, Any] = {"steps": len(steps), "held": max(steps, default=0)}
    if ranks.is_main():
        weights = learner.module.state_dict()
        torch.save(weights, "weights.pt")
        content = b"".join(weights[key].numpy().tobytes() for key in sorted(weights))
        result["weights"] = hashlib.sha256(content).hexdigest()
        result["curve"] = layout.digest(layout.TRAINING / f"{name}.csv")
        result["bundle"] = _save_bundle(learner) if has_bundle else ""
    return result


def _save_bundle(learner: Any) -> str:
    """Write what the predictor needs, as the stage does; return its digest."""
    folder = Path("bundle")
    folder.mkdir(exist_ok=True)
    learner.save(folder)
    return layout.digest(folder)


def _make_params(folder: Path, case: str, *, fsdp: bool) -> tuple[str, TextParams]:
    """Return the name of the candidate of a case, and parameters that have it."""
    changes = dict((CASES | ENCODERS)[case])
    pretrained = "lora" in changes
    lora = changes.pop("lora", None)
    params = small_params(forms=["fp32"], fsdp=fsdp, **{"gradient_clip": UNCLIPPED, **changes})
    if not pretrained:
        return ("ensemble" if case == "ensemble" else "transformer"), params
    settings = params.candidates["transformer"].model_dump(
        exclude={"vocabulary", "hidden", "layers", "heads", "dropout"}
    )
    tiny = folder / ("bert" if case == "lora" else case)
    settings |= {"kind": "pretrained", "weights": str(tiny), "lora": lora}
    settings["sha256"] = layout.digest(tiny / "model.safetensors")
    config = PretrainedConfig.model_validate(settings)
    return case, params.model_copy(update={"candidates": {case: config}})


def _watch_steps() -> list[int]:
    """Return a list that grows by each step: bytes of weights and moments in this process."""
    held: list[int] = []
    count_step = TrainingLoop._count_step

    def count(self: TrainingLoop, *arguments: Any) -> None:
        count_step(self, *arguments)
        held.append(_count_held_bytes(self.module, self.optimizer))

    TrainingLoop._count_step = count  # type: ignore[method-assign]
    return held


def _count_held_bytes(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    tensors = list(module.parameters())
    for moments in optimizer.state.values():
        tensors += [moments["exp_avg"], moments["exp_avg_sq"]]
    own = [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]
    return sum(tensor.untyped_storage().nbytes() for tensor in own)


def _plant_faults(rank: int, last: int, broken: int) -> None:
    """Let the process `rank` die before step `last`, and the model fail at step `broken`."""
    count_step = TrainingLoop._count_step
    forward = TextClassifier.forward
    steps: list[int] = []

    def die(self: TrainingLoop, *arguments: Any) -> None:
        if ranks.get_rank() == rank and self.state.step + 1 == last:
            os.kill(os.getpid(), signal.SIGKILL)
        count_step(self, *arguments)

    def fail(self: TextClassifier, **inputs: torch.Tensor) -> torch.Tensor:
        logits = forward(self, **inputs)
        steps.append(1)
        if len(steps) == broken:
            raise ValueError("planted in the model")
        return logits

    TrainingLoop._count_step = die  # type: ignore[method-assign]
    TextClassifier.forward = fail  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
