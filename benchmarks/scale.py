"""Memory and time of what looks at all rows of a data set, as they become more.

Each runs on the generated tickets, in a process of its own: ingest, validate, the training of a
linear model and of a small transformer for one epoch, the search for leaks, and what else evaluate
reads of train and of the manifest. Memory is the peak, and a row costs what it adds to the size
before. Held-out splits have the shares of the recipe, up to a number of rows.

With --only, ingest and some of these.

python benchmarks/scale.py [--only NAME ...] [-- ROWS ...]
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from processes import ROOT, ProcessCost, measure_process, open_folder
from ruamel.yaml import YAML

from plumbline.contract.machine import read_cpu_name
from plumbline.tasks.text_classification.params import CheckName

BASE_ROWS = 1000
MAX_HELD_OUT = 10_000  # rows of a held-out split
LOAD_TASK = """
from plumbline.contract import layout
from plumbline.contract.loading import load_params, load_task
from plumbline.quality.manifest_check import check_manifest
from plumbline.tables.manifest_file import Manifest

params = load_params(layout.PARAMS)
task = load_task(params.task).configure(params)
"""
# The gate `leakage` asks for no more than this of the examples.
FIND_LEAKS = """
task.expectations.find_leaks(params, layout.EXAMPLES)
"""
READ_MANIFEST = """
manifest = Manifest(layout.MANIFEST)
check_manifest(manifest, task, layout.EXAMPLES)
manifest.read_held_out()
task.scoring.build_baselines(params, layout.EXAMPLES)
"""
# The stage `train` without MLflow: examples become a sealed bundle.
TRAIN = """
from plumbline.stages.train import learn

learn(params, task, "{candidate}", layout.EXAMPLES, must_learn=True)
"""
# Changes of the transformer of another recipe.
SMALL = {"vocabulary": 4000, "hidden": 32, "layers": 1, "heads": 2, "max_epochs": 1}
COMMANDS: Mapping[str, list[str]] = {
    "ingest": [sys.executable, "-P", str(ROOT / "pipelines/ingest.py")],
    "validate": [sys.executable, "-P", str(ROOT / "pipelines/validate.py")],
    "linear": [sys.executable, "-P", "-c", LOAD_TASK + TRAIN.format(candidate="linear")],
    "transformer": [sys.executable, "-P", "-c", LOAD_TASK + TRAIN.format(candidate="transformer")],
    "leakage": [sys.executable, "-P", "-c", LOAD_TASK + FIND_LEAKS],
    "manifest": [sys.executable, "-P", "-c", LOAD_TASK + READ_MANIFEST],
}


def main() -> None:
    """Print a line for each number of rows and stage: what it costs, and what a row costs."""
    parser = argparse.ArgumentParser(
        description="Memory and time of what looks at all rows of a data set."
    )
    parser.add_argument(
        "rows", metavar="ROWS", type=int, nargs="*", default=[10_000, 100_000, 1_000_000]
    )
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", default=list(COMMANDS), choices=COMMANDS,
        help=f"beside ingest: {', '.join(COMMANDS)}",
    )  # fmt: skip
    options = parser.parse_args()
    print(read_cpu_name())
    print(
        f"{'rows':>10} {'':<12}{'memory':>10} {'bytes a row':>12} {'CPU s':>8} {'s a million':>12}"
    )
    before, costs_before = BASE_ROWS, _measure_stages(BASE_ROWS, options.only)
    for num_rows in sorted(set(options.rows)):
        costs = _measure_stages(num_rows, options.only)
        for stage, cost in costs.items():
            num_more = num_rows - before
            peak_more = cost.peak_mb - costs_before[stage].peak_mb
            seconds_more = cost.cpu_seconds - costs_before[stage].cpu_seconds
            print(
                f"{num_rows:>10,} {stage:<12}{cost.peak_mb:>7.0f} MB "
                f"{peak_more * 1e6 / num_more:>12,.0f} {cost.cpu_seconds:>8.1f} "
                f"{seconds_more * 1e6 / num_more:>12,.0f}",
                flush=True,
            )
        before, costs_before = num_rows, costs


def _measure_stages(num_rows: int, only: list[str]) -> dict[str, ProcessCost]:
    with open_folder("plumbline-scale-") as folder:
        _write_params(folder, num_rows)
        return {
            stage: measure_process(command, folder)
            for stage, command in COMMANDS.items()
            if stage in ("ingest", *only)
        }


def _write_params(folder: Path, num_rows: int) -> None:
    yaml = YAML(typ="safe")
    params, other = (
        yaml.load((ROOT / "recipes" / name).read_text(encoding="utf-8"))
        for name in ("text_classification.yaml", "banking77.yaml")
    )
    params["data"]["generated"]["num_rows"] = num_rows
    for split in ("validation", "test"):
        share = params["data"]["split"][split]
        params["data"]["split"][split] = min(share, MAX_HELD_OUT / num_rows)
    params["candidates"]["linear"]["max_epochs"] = 1
    params["candidates"]["transformer"] = other["candidates"]["transformer"] | SMALL
    # Many tickets of one grammar are nearly copies of each other.
    params["validation"]["warnings"] = list(get_args(CheckName))
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)


if __name__ == "__main__":
    main()
