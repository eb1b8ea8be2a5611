"""What an ensemble costs and what its doubt is worth, beside the single model it is made of.

Accuracy, how uncertainty orders the errors (AUROC, AURC), seconds of training and milliseconds of
one answer, on banking77 with the linear candidate of its recipe:

PLUMBLINE_TEST_DATA=FOLDER python benchmarks/uncertainty.py [--members 3] [--epochs 30]

FOLDER/banking77 holds train.csv and test.csv.
"""

import argparse
import contextlib
import io
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.loading import load_params, load_task
from plumbline.contract.machine import read_cpu_name
from plumbline.contract.records import Scores
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import score_split
from plumbline.evidence.uncertainty import measure_orderings
from plumbline.tasks.text_classification.params import EnsembleConfig
from plumbline.training import fitting

RECIPE = Path(__file__).resolve().parents[1] / "recipes/banking77.yaml"
SINGLE, ENSEMBLE = "linear", "ensemble"
CONFIDENCE = 0.95
KINDS = {
    "confidence": "1 less the confidence",
    "epistemic": "epistemic",
    "total": "epistemic and aleatoric",
}


def main() -> None:
    """Train both, and print the table in Markdown."""
    parser = argparse.ArgumentParser(description="Accuracy, doubt and cost of an ensemble.")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    folder = Path(os.environ["PLUMBLINE_TEST_DATA"]).resolve() / "banking77"
    params = _read_params(folder, arguments.members, arguments.epochs)
    task = load_task(params.task)
    print(
        "| model | accuracy | uncertainty | AUROC for errors | AURC | CPU s of training | "
        "ms of an answer | MB |\n|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private, contextlib.chdir(private):
        layout.EXAMPLES.mkdir(parents=True)
        task.data.ingest(params, layout.EXAMPLES, layout.MANIFEST)
        for name in (SINGLE, ENSEMBLE):
            _measure(params, task, name)
    print(f"\n{read_cpu_name()}; intervals at {CONFIDENCE:.0%}")


def _read_params(folder: Path, members: int, epochs: int) -> Any:
    """Read the recipe, with the linear candidate alone, and an ensemble of it."""
    params = load_params(RECIPE)
    source = {"train": str(folder / "train.csv"), "test": str(folder / "test.csv")}
    sources = params.data.source.model_copy(update=source)
    data = params.data.model_copy(update={"source": sources, "watch": str(folder)})
    member = params.candidates[SINGLE].model_copy(update={"max_epochs": epochs})
    ensemble = EnsembleConfig(kind="ensemble", members=members, member=member)
    candidates = {SINGLE: member, ENSEMBLE: ensemble}
    return params.model_copy(update={"data": data, "candidates": candidates})


def _measure(params: Any, task: Any, name: str) -> None:
    learner = task.models.build_learner(params, name, layout.EXAMPLES)
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        fitting.fit(learner, params, name)
    seconds = time.process_time() - start
    folder = layout.locate_bundle(name)
    folder.mkdir(parents=True)
    learner.save(folder)
    bundle.seal(folder, task, name)
    predictor = bundle.load(folder)
    scores = score_split(task, "test", predictor)
    inputs = task.data.read_inputs(layout.EXAMPLES, "test")
    latency = measure_latency(predictor, inputs)["one_p50"]
    cost = f"{seconds:.0f} | {latency:.2f} | {bundle.num_bytes(folder) / 1e6:.1f}"
    _print_rows(name, scores, task, cost)


def _print_rows(name: str, scores: Scores, task: Any, cost: str) -> None:
    for kind, ordering in measure_orderings(scores, task.metric, CONFIDENCE).items():
        low, high = ordering.auroc_interval or (0.0, 1.0)
        print(
            f"| {name} | {scores.metrics['accuracy']:.2%} | {KINDS[kind]} | {ordering.auroc:.4f} "
            f"({low:.4f} to {high:.4f}) | {ordering.aurc:.4f} ({ordering.aurc_interval.low:.4f} to "
            f"{ordering.aurc_interval.high:.4f}) | {cost} |"
        )


if __name__ == "__main__":
    main()
