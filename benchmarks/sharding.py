"""Memory of each process that trains an encoder with others: with all weights, and with its share.

    python benchmarks/sharding.py [--hidden 768] [--layers 8] [--processes 2] [--precision fp32]

Trains an encoder from scratch for one epoch on random sentences, by `ddp` and with `fsdp: true`, on
CPUs (gloo). Memory is RSS above that of the libraries, in bytes a weight: the most before a step of
the optimizer, when the gradients are there; and the peak, which building the model and writing
checkpoints are part of. The C library is asked to return at once what is freed: by itself glibc
keeps most of it.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import torch
from machine import read_cpu_name

ROOT = Path(__file__).resolve().parents[1]
WAYS = {"ddp": False, "fsdp: true": True}
ROWS = {"train": 96, "validation": 32}
CANDIDATE = "transformer"
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT / "src"),
    "MALLOC_MMAP_THRESHOLD_": "262144",  # bytes
}


def main() -> None:
    """Print a line for each process of both trainings."""
    parser = argparse.ArgumentParser(description="Memory of processes that train together.")
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)  # of one process
    arguments = parser.parse_args()
    if arguments.way:
        measure_process(arguments)
        return
    print(f"{read_cpu_name()}, {arguments.processes} processes, {arguments.precision}")
    print("way          process   weights   before a step   peak (bytes a weight)")
    for way in WAYS:
        for rank, found in enumerate(train_together(arguments, way)):
            weights, step, peak = found["weights"], found["step"], found["peak"]
            print(f"{way:<13}{rank:>7}{weights / 1e6:>9.1f}M{step:>14.1f}{peak:>11.1f}")


def train_together(arguments: argparse.Namespace, way: str) -> list[dict[str, float]]:
    """Let torchrun start this file once for each process; return what each has measured."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    script = [str(arguments.processes), __file__, "--way", way, "--precision", arguments.precision]
    sizes = ["--hidden", str(arguments.hidden), "--layers", str(arguments.layers)]
    with tempfile.TemporaryDirectory() as folder:
        write_examples(Path(folder) / "examples")
        subprocess.run(
            [*launcher, *script, *sizes],
            cwd=folder,
            env={**os.environ, **SETTINGS},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        files = [Path(folder) / f"{rank}.json" for rank in range(arguments.processes)]
        return [json.loads(file.read_text()) for file in files]


def write_examples(folder: Path) -> None:
    """Write random sentences, of two classes that differ in one word."""
    from plumbline.sources.shard_writer import write_split

    folder.mkdir()
    draw = random.Random(0)
    words = [f"{draw.choice('bcdfgklm')}{draw.choice('aeiou')}{number}" for number in range(4000)]
    for split, count in ROWS.items():
        labels = [("no", "yes")[row % 2] for row in range(count)]
        texts = [" ".join([*draw.choices(words, k=12), label]) for label in labels]
        ids = [f"{split}-{row}" for row in range(count)]
        write_split(folder, split, pa.table({"id": ids, "text": texts, "label": labels}))


def measure_process(arguments: argparse.Namespace) -> None:
    """Train as one of the processes, and write what it took."""
    from plumbline.contract import ranks
    from plumbline.entrypoint import load_params
    from plumbline.tasks.text_classification.models import build_learner
    from plumbline.training import fitting

    params: Any = load_params(ROOT / "recipes/text_classification.yaml")
    sizes = {"hidden": arguments.hidden, "layers": arguments.layers, "heads": 8}
    short = {"max_epochs": 1, "batch_size": 16, "max_tokens": 32, "fsdp": WAYS[arguments.way]}
    encoder = params.candidates[CANDIDATE].model_copy(update=sizes | short)
    training = {"device": "cpu", "precision": arguments.precision, "checkpoint_every_steps": 1000}
    params = params.model_copy(
        update={
            "candidates": {CANDIDATE: encoder},
            "training": params.training.model_copy(update=training),
        }
    )
    process = psutil.Process()
    base = process.memory_info().rss
    steps: list[int] = []
    clip_gradients = torch.nn.utils.clip_grad_norm_

    def measure_step(*given: Any) -> torch.Tensor:
        steps.append(process.memory_info().rss - base)
        return clip_gradients(*given)

    torch.nn.utils.clip_grad_norm_ = measure_step
    learner = build_learner(params, CANDIDATE, Path("examples"))
    num_weights = sum(weight.numel() for weight in learner.module.parameters())
    fitting.fit(learner, params, CANDIDATE, SilentLog(), must_learn=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - base
    found = {"weights": num_weights, "step": max(steps) / num_weights, "peak": peak / num_weights}
    Path(f"{ranks.get_rank()}.json").write_text(json.dumps(found))


class SilentLog:
    """A log of training that keeps nothing."""

    def log_params(self, values: dict[str, object]) -> None:
        """Keep nothing."""

    def log_metrics(self, values: dict[str, float], step: int) -> None:
        """Keep nothing."""

    def set_tag(self, key: str, value: str) -> None:
        """Keep nothing."""


if __name__ == "__main__":
    main()
