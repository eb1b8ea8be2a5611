"""What each process of a torchrun does in test_training: it trains and writes the results.

The first process also trains alone.
"""

import csv
import hashlib
import json
import os
import sys
from pathlib import Path

import torch
from tests.support.small_texts import SilentLog, small_params

from plumbline.contract import layout
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting


def main() -> None:
    examples = Path(sys.argv[1]).resolve()
    rank = os.environ["RANK"]
    facts = {"weights": _train(examples), "history": _read_losses()}
    Path(f"rank{rank}.json").write_text(json.dumps(facts))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if rank == "0":
        for name in list(os.environ):
            if "RANK" in name or "WORLD" in name or name.startswith("TORCHELASTIC"):
                del os.environ[name]
        Path("alone").mkdir()
        os.chdir("alone")
        _train(examples)
        Path("../alone.json").write_text(json.dumps(_read_losses()))


def _train(examples: Path) -> str:
    """Train the transformer, and return the digest of its weights."""
    params = small_params(dropout=0.0)
    learner = build_learner(params, "transformer", examples)
    fitting.fit(learner, params, "transformer", SilentLog())
    tensors = sorted(learner.module.state_dict().items())
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for _, tensor in tensors)).hexdigest()


def _read_losses() -> list[float]:
    with (layout.TRAINING / "transformer.csv").open() as file:
        return [float(row["validation/loss"]) for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
