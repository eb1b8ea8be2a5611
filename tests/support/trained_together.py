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
from tests.support.small_texts import small_params
from torch.nn import functional

from plumbline.contract import layout
from plumbline.contract.records import Learner
from plumbline.process import ranks
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.models.classifier import TextClassifier
from plumbline.tasks.text_classification.models.encoded_texts import Batch
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
    validated = _watch_validation()
    weights, loss = _train(examples)
    facts = {
        "weights": weights,
        "loss": loss,
        "history": _read_losses(),
        "steps": len(steps),
        "validated": validated,
    }
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
    count_step = TrainingLoop._count_step

    def count(self: TrainingLoop, *arguments: Any) -> None:
        if ranks.get_rank() == rank and self.state.step + 1 == last:
            os.kill(os.getpid(), signal.SIGKILL)
        count_step(self, *arguments)
        steps.append(self.state.step)

    TrainingLoop._count_step = count  # type: ignore[method-assign]
    return steps


def _watch_validation() -> list[int]:
    """Return a list that grows by the rows of each batch that this process validates."""
    num_rows: list[int] = []
    validation_step = TextClassifier.validation_step

    def count(self: TextClassifier, batch: Batch) -> dict[str, torch.Tensor]:
        num_rows.append(len(batch["labels"]))
        return validation_step(self, batch)

    TextClassifier.validation_step = count  # type: ignore[method-assign]
    return num_rows


def _train(examples: Path) -> tuple[str, float]:
    """Train the transformer; return the digest of its weights, and their loss on validation."""
    params = small_params(dropout=0.0)
    learner = build_learner(params, "transformer", examples)
    fitting.fit(learner, params, "transformer")
    tensors = sorted(learner.module.state_dict().items())
    digest = hashlib.sha256(b"".join(tensor.numpy().tobytes() for _, tensor in tensors))
    return digest.hexdigest(), _compute_loss(learner)


@torch.no_grad()
def _compute_loss(learner: Learner) -> float:
    """Compute the mean loss over all rows of validation, in this process alone."""
    learner.module.eval()
    total, num_rows = 0.0, 0
    for batch in learner.data.val_dataloader():
        logits = learner.module.compute_logits(batch)
        total += float(functional.cross_entropy(logits, batch["labels"], reduction="sum"))
        num_rows += len(logits)
    return total / num_rows


def _read_losses() -> list[float]:
    """Read the curve, which the first process wrote."""
    if not ranks.is_main():
        return []
    with (layout.TRAINING / "transformer.csv").open() as file:
        return [float(row["validation/loss"]) for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
