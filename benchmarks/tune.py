"""What 20 trials of a candidate gain: against params as shipped, and against random search.

    PLUMBLINE_TEST_DATA=FOLDER python benchmarks/tune.py [NUM_TRIALS [RECIPE [CANDIDATE]]]

RECIPE is banking77, for which FOLDER has banking77/train.csv and banking77/test.csv, or
text_classification, whose data are generated; CANDIDATE is linear or minilm. It works in a copy of
this repository, reads validation alone, and prints one line for each sampler.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plumbline.contract.loading import load_params, load_task
from plumbline.contract.machine import read_cpu_name
from plumbline.tuning import outcome, search, studies

ROOT = Path(__file__).resolve().parents[1]
BANKING = "banking77"


def main() -> None:
    """Search with each sampler and print what it found."""
    num_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    recipe = sys.argv[2] if len(sys.argv) > 2 else BANKING
    candidate = sys.argv[3] if len(sys.argv) > 3 else "linear"
    with tempfile.TemporaryDirectory() as folder:
        make_checkout(Path(folder), recipe)
        for sampler in ("tpe", "random"):
            print(describe(candidate, sampler, num_trials), flush=True)
    print(f"{recipe}, {candidate}, on {read_cpu_name()}")


def make_checkout(folder: Path, recipe: str) -> None:
    """Copy what the pipeline needs, and validate the data there."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    if recipe == BANKING:
        data = Path(os.environ["PLUMBLINE_TEST_DATA"]) / BANKING
        shutil.copytree(data, folder / "data/raw" / BANKING, dirs_exist_ok=True)
    shutil.copy2(ROOT / f"recipes/{recipe}.yaml", folder / "params.yaml")
    os.chdir(folder)
    os.environ |= {"PLUMBLINE_TRACKING": "off", "DVC_NO_ANALYTICS": "true"}
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["dvc", "repro", "--quiet", "validate"], check=True)


def describe(candidate: str, sampler: search.SamplerName, num_trials: int) -> str:
    """Search once, in this folder."""
    params = load_params(Path("params.yaml"))
    start = time.perf_counter()
    options = search.SearchOptions(num_trials=num_trials, sampler=sampler)
    result = search.search(
        params, load_task(params.task), candidate, options, lambda trial, request: None
    )
    states = [studies.describe_state(trial) for trial in studies.list_trials(result.study)]
    shipped = outcome.find_shipped_score(result, params)
    again, *others = outcome.score_repeats(result)
    return (
        f"{sampler}: shipped {shipped:.4f}, best of {num_trials} "
        f"({states.count('pruned')} pruned) "
        f"{result.study.best_value:.4f}, same seed again {again}, other seeds {others}, "
        f"values {result.winner}, {time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
