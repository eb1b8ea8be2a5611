"""Whether the shipped runs are promoted, with the same winner, whatever computes them.

    python benchmarks/everywhere.py [--recipes default ...] [--sets avx2] [--threads 1] [--seeds 7]

runs `plumbline run` of this commit in a throw-away clone for each combination of recipe, set of
instructions, number of threads and seed, and prints a row for each as it ends. Exit code 1 where a
run is not promoted, or where the winner of a recipe is not always the same.

Instruction sets are limited by the variables in machine.py, and only a set that this CPU has can be
asked for. ONNX Runtime cannot be limited (its MLAS reads the CPU's flags by `cpuid`), so that what
is exported answers with the instructions of this machine: run this command on several.
"""

import argparse
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from machine import INSTRUCTION_SETS, list_instruction_sets, list_vector_units
from processes import ROOT, clone_checkout, open_folder

from plumbline.contract.machine import read_cpu_name

DEFAULT = "default"  # params.yaml as it is, which is the recipe text_classification
# These need files of their own; text_classification is the default.
OWN_FILES = {"text_classification", "banking77", "imdb", "label_sets", "recorded_answers"}
THREADS, SEEDS = (1, 2, 4), (7, 8, 9)
NUM_LINES = 15  # of what a run that failed printed last


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    verdict: str
    winner: str
    scores: str  # of all candidates on test, by the metric that decides
    seconds: float
    cpu_seconds: float
    printed: str


def main() -> None:
    """Print a row for each run in Markdown; exit 1 where one is not as all others should be."""
    recipes = sorted(path.stem for path in ROOT.glob("recipes/*.yaml"))
    shipped = [DEFAULT, *(name for name in recipes if name not in OWN_FILES)]
    sets = list_instruction_sets()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recipes", nargs="+", choices=[DEFAULT, *recipes], default=shipped)
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets)
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    asked = parser.parse_args()
    units = ", ".join(list_vector_units())
    print(f"{read_cpu_name()} ({units}), {os.cpu_count()} cores\n")
    print("| recipe | set | threads | seed | verdict | winner | test scores | wall s | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    wrong, winners = [], dict[str, set[str]]()
    for run in itertools.product(asked.recipes, asked.sets, asked.threads, asked.seeds):
        outcome = run_once(*run)
        figures = f"{outcome.scores} | {outcome.seconds:.0f} | {outcome.cpu_seconds:.0f}"
        row = (*run, outcome.verdict, outcome.winner, figures)
        print("|", " | ".join(map(str, row)), "|", flush=True)
        winners.setdefault(run[0], set()).add(outcome.winner)
        if outcome.verdict != "promote":
            wrong.append(f"{run}: {outcome.verdict}\n{outcome.printed}")
    wrong += [
        f"{recipe}: the winner is not always the same: {', '.join(sorted(names))}"
        for recipe, names in winners.items()
        if len(names) > 1
    ]
    if wrong:
        sys.exit("\n\n".join(["", *wrong]))


def run_once(recipe: str, instructions: str, num_threads: int, seed: int) -> Outcome:
    """Run a recipe in a new clone, as a user does."""
    with open_folder("everywhere-") as folder:
        used = None if recipe == DEFAULT else recipe
        limits = INSTRUCTION_SETS[instructions] | {"OMP_NUM_THREADS": str(num_threads)}
        environment = clone_checkout(folder, used, **limits)
        params = folder / "params.yaml"
        params.write_text(re.sub(r"(?m)^seed: \d+", f"seed: {seed}", params.read_text()))
        start, before = time.perf_counter(), read_cpu_s()
        done = subprocess.run(
            ["plumbline", "run"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        costs = (time.perf_counter() - start, read_cpu_s() - before)
        printed = "\n".join(done.stdout.splitlines()[-NUM_LINES:])
        return Outcome(*read_answer(folder, done.returncode), *costs, printed)


def read_answer(folder: Path, code: int) -> tuple[str, str, str]:
    """Return the verdict, the winner, and the candidates' scores of a run that ended so."""
    path = folder / "reports/evidence.json"
    evidence = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not evidence.get("winner"):
        return f"exit code {code}", "", ""
    metric, verdict = evidence["metric"]["name"], evidence["verdict"]
    scores = (
        f"{name} {evidence['candidates'][name]['test'][metric]:.4f}" for name in evidence["ranking"]
    )
    if verdict == "promote" and code != 0:
        verdict = f"promote, then exit code {code}"
    return verdict, evidence["winner"], ", ".join(scores)


def read_cpu_s() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
