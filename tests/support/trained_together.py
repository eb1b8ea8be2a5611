"""What each process of a torchrun does in test_training: it trains and writes what came of it; the first also alone."""

import csv
import hashlib
import json
import os
import sys
from pathlib import Path

import torch
from tests.support.small_texts import Silent, small_params

from plumbline.contract import layout
from plumbline.tasks.text_classification.models import learner
from plumbline.training import fitting


def main() -> None:
    examples, rank = Path(sys.argv[1]).resolve(), os.environ["RANK"]
    facts = {"weights": _trained(examples), "history": _losses()}
    Path(f"rank{rank}.json").write_text(json.dumps(facts))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if rank == "0":
        for name in [
            name
            for name in os.environ
            if "RANK" in name or "WORLD" in name or name.startswith("TORCHELASTIC")
        ]:
            del os.environ[name]
        Path("alone").mkdir()
        os.chdir("alone")
        _trained(examples)
        Path("../alone.json").write_text(json.dumps(_losses()))


def _trained(examples: Path) -> str:
    params = small_params(dropout=0.0)
    made = learner(params, "transformer", examples)
    fitting.fit(made, params, "transformer", Silent())
    tensors = sorted(made.module.state_dict().items())
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for _, tensor in tensors)).hexdigest()


def _losses() -> list[float]:
    with (layout.TRAINING / "transformer.csv").open() as file:
        return [float(row["validation/loss"]) for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
