"""Time and memory of each stage as the rows become more.

    python benchmarks/growth.py [ROWS ...]

Each stage of the recipe `quick` runs on generated tickets, in a process of its own; held-out splits
have the recipe's shares. Of time and peak memory, what more rows add to a run with 1,000 of them is
shown: `slope` is its power of the number of rows since the size before, where 1 is linear. Without
ROWS: 10,000, 100,000 and 1,000,000.
"""

import argparse
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from machine import list_vector_units
from processes import ROOT, ProcessCost, measure_process, open_folder
from ruamel.yaml import YAML

from plumbline.contract.machine import read_cpu_name
from plumbline.tasks.text_classification.params import CheckName

BASE_ROWS = 1000
STAGES = ("ingest", "validate", "train linear", "control linear", "evaluate", "register")
REFUSED = 20  # the exit code of register where a gate refuses
HEAD = ("rows", "stage", "CPU s", "slope", "s a million rows", "peak MB", "bytes a row")


def main() -> None:
    """Print a row of a table for each number of rows and stage."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", metavar="ROWS", type=int, nargs="*")
    sizes = parser.parse_args().rows or [10_000, 100_000, 1_000_000]
    print(f"{read_cpu_name()} ({', '.join(list_vector_units())}), {os.cpu_count()} cores\n")
    print("|", " | ".join(HEAD), "|\n" + "|---" * len(HEAD) + "|", flush=True)
    base, before = dict(_measure_stages(BASE_ROWS)), BASE_ROWS
    seconds_before: dict[str, float] = {}
    for num_rows in sorted(set(sizes)):
        seconds = {}
        for stage, cost in _measure_stages(num_rows):
            num_more = num_rows - BASE_ROWS
            seconds[stage] = cost.cpu_seconds - base[stage].cpu_seconds
            slope = "-"
            if min(seconds[stage], seconds_before.get(stage, 0)) > 0:
                gain = math.log(seconds[stage] / seconds_before[stage])
                slope = f"{gain / math.log(num_rows / before):.2f}"
            memory = 1e6 * (cost.peak_mb - base[stage].peak_mb) / num_more
            cells = [f"{num_rows:,}", stage, f"{cost.cpu_seconds:.1f}", slope]
            cells.append(f"{seconds[stage] * 1e6 / num_more:,.0f}")
            cells += [f"{cost.peak_mb:.0f}", f"{memory:,.0f}"]
            print("|", " | ".join(cells), "|", flush=True)
        seconds_before, before = seconds, num_rows


def _measure_stages(num_rows: int) -> Iterator[tuple[str, ProcessCost]]:
    with open_folder("plumbline-growth-") as folder:
        _write_params(folder, num_rows)
        for stage in STAGES:
            script, *candidate = stage.split()
            command = [sys.executable, "-P", str(ROOT / "pipelines" / f"{script}.py"), *candidate]
            yield stage, measure_process(command, folder, codes=(0, REFUSED))


def _write_params(folder: Path, num_rows: int) -> None:
    yaml = YAML(typ="safe")
    params = yaml.load((ROOT / "recipes/quick.yaml").read_text(encoding="utf-8"))
    params["data"]["generated"]["num_rows"] = num_rows
    # Many tickets of one grammar are nearly copies of each other.
    params["validation"]["warnings"] = list(get_args(CheckName))
    params["evaluation"]["max_leakage"] = {"exact": 1.0, "near": 1.0, "group": 1.0}
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)


if __name__ == "__main__":
    main()
