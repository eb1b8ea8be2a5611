"""What each process of a torchrun does in test_training: it trains and writes the results.

    torchrun ... tests/support/trained_together.py EXAMPLES [--alone] [--kill RANK STEP]

With --alone the first process also trains alone; with --kill one process dies before a step.
"""

import argparse
import csv
import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import torch
from tests.support.small_texts import SilentLog, small_params

from plumbline.contract import layout, ranks
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting
from plumbline.training.loop import TrainingLoop


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", type=Path)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--kill", nargs=2, type=int, default=(-1, -1), metavar=("RANK", "STEP"))
    arguments = parser.parse_args()
    examples = arguments.examples.resolve()
    steps = _watch_steps(*arguments.kill)
    facts = {"weights": _train(examples), "history": _read_losses(), "steps": len(steps)}
    Path(f"rank{ranks.get_rank()}.json").write_text(json.dumps(facts))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if arguments.alone and ranks.is_main():
        for name in list(os.environ):
            if "RANK" in name or "WORLD" in name or name.startswith("TORCHELASTIC"):
                del os.environ[name]
        Path("alone").mkdir()
        os.chdir("alone")
        _train(examples)
        Path("../alone.json").write_text(json.dumps(_read_losses()))


def _watch_steps(rank: int, last: int) -> list[int]:
    """Return a list that grows by each step; the process `rank` is killed before step `last`."""
    steps: list[int] = []
    on_train_batch_end = TrainingLoop.on_train_batch_end

    def count(self: TrainingLoop, *arguments: Any) -> None:
        if ranks.get_rank() == rank and self.state.step + 1 == last:
            os.kill(os.getpid(), signal.SIGKILL)
        on_train_batch_end(self, *arguments)
        steps.append(self.state.step)

    TrainingLoop.on_train_batch_end = count  # type: ignore[method-assign]
    return steps


def _train(examples: Path) -> str:
    """Train the transformer, and return the digest of its weights."""
    params = small_params(dropout=0.0)
    learner = build_learner(params, "transformer", examples)
    fitting.fit(learner, params, "transformer", SilentLog())
    tensors = sorted(learner.module.state_dict().items())
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for _, tensor in tensors)).hexdigest()


def _read_losses() -> list[float]:
    """Read the curve, which the first process wrote."""
    if not ranks.is_main():
        return []
    with (layout.TRAINING / "transformer.csv").open() as file:
        return [float(row["validation/loss"]) for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
