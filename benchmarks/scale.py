"""Memory and time of ingest, validate and the search for leaks, as the rows become more.

Each runs on the generated tickets, in a process of its own. Memory is what it takes at its peak
beyond what 1,000 rows take, imports included; a row costs what it adds to the size before.

python benchmarks/scale.py [ROWS ...]
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from machine import read_cpu_name
from processes import ProcessCost, measure_process
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
BASE_ROWS = 1000
# The gate `leakage` asks for no more than this of the examples.
FIND_LEAKS = """
from plumbline.contract import layout
from plumbline.entrypoint import load_params, load_task

params = load_params(layout.PARAMS)
load_task(params.task).configure(params).expectations.find_leaks(params, layout.EXAMPLES)
"""
COMMANDS: Mapping[str, list[str]] = {
    "ingest": [sys.executable, "-P", str(ROOT / "pipelines/ingest.py")],
    "validate": [sys.executable, "-P", str(ROOT / "pipelines/validate.py")],
    "leakage": [sys.executable, "-P", "-c", FIND_LEAKS],
}


def main() -> None:
    """Print a line for each number of rows and stage: what it costs, and what a row costs."""
    parser = argparse.ArgumentParser(
        description="Memory and time of ingest, validate and the search for leaks."
    )
    parser.add_argument(
        "rows", metavar="ROWS", type=int, nargs="*", default=[10_000, 30_000, 100_000]
    )
    rows = sorted(set(parser.parse_args().rows))
    print(read_cpu_name())
    print(f"{'rows':>9} {'':<9}{'memory':>10} {'bytes a row':>12} {'CPU s':>8} {'s a million':>12}")
    base = _measure_stages(BASE_ROWS)
    before, costs_before = BASE_ROWS, base
    for num_rows in rows:
        costs = _measure_stages(num_rows)
        for stage, cost in costs.items():
            num_more = num_rows - before
            peak_more = cost.peak_mb - costs_before[stage].peak_mb
            seconds_more = cost.cpu_seconds - costs_before[stage].cpu_seconds
            print(
                f"{num_rows:>9,} {stage:<9}{cost.peak_mb - base[stage].peak_mb:>7.0f} MB "
                f"{peak_more * 1e6 / num_more:>12,.0f} {cost.cpu_seconds:>8.1f} "
                f"{seconds_more * 1e6 / num_more:>12,.0f}",
                flush=True,
            )
        before, costs_before = num_rows, costs


def _measure_stages(num_rows: int) -> dict[str, ProcessCost]:
    with tempfile.TemporaryDirectory(prefix="plumbline-scale-") as folder:
        _write_params(Path(folder), num_rows)
        return {
            stage: measure_process(command, Path(folder)) for stage, command in COMMANDS.items()
        }


def _write_params(folder: Path, num_rows: int) -> None:
    yaml = YAML(typ="safe")
    params = yaml.load((ROOT / "recipes/text_classification.yaml").read_text(encoding="utf-8"))
    params["data"]["generated"]["num_rows"] = num_rows
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)


if __name__ == "__main__":
    main()
