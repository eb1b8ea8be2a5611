"""How much longer a pass takes because of MLflow tracking: with it, and with it switched off.

    python benchmarks/tracking.py [--passes 3] [--checkout FOLDER]

Runs `dvc repro --force` in a clone of this checkout, or in `--checkout`, in turn with and without
tracking, and compares the medians of wall-clock seconds, and of the CPU seconds of the stages. The
process that writes to MLflow in the background takes CPU meanwhile; after a pass, and outside of
its seconds, it is waited for.
"""

import argparse
import contextlib
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from machine import read_cpu_name

from plumbline.tracking import background

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 0.03
DELIVERY_TIMEOUT_S = 120.0


def main() -> None:
    """Print the seconds of each pass, and how much longer those with tracking took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=3, help="of each kind")
    parser.add_argument("--checkout", type=Path, help="where to run; default: a clone of this")
    arguments = parser.parse_args()
    print(f"{read_cpu_name()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        checkout = arguments.checkout or Path(folder) / "checkout"
        if arguments.checkout is None:
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
            run_pass(checkout, "off")  # fills caches of files, and makes the first champion
        compare(checkout, arguments.passes)


def compare(checkout: Path, num_passes: int) -> None:
    """Run passes of both kinds in turn, and print how they differ."""
    results: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
    for number in range(num_passes):
        for tracking in ("on", "off") if number % 2 else ("off", "on"):
            results[tracking].append(run_pass(checkout, tracking))
            wall_s, cpu_s = results[tracking][-1]
            print(f"tracking {tracking}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU", flush=True)
    for place, name in enumerate(("wall-clock", "CPU of the stages")):
        median = {key: statistics.median(row[place] for row in results[key]) for key in results}
        share = median["on"] / median["off"] - 1
        print(f"{name}: {median['on']:.1f} s on, {median['off']:.1f} s off: {share:+.1%}")
    print(f"the limit of the wall-clock time is {LIMIT:+.0%}")


def run_pass(checkout: Path, tracking: str) -> tuple[float, float]:
    """Run the pipeline once and return its wall-clock and its CPU seconds.

    A later pass ends with the verdict keep or refuse, since the champion is the same model.
    """
    environment = os.environ | {
        "PLUMBLINE_TRACKING": tracking,
        "PYTHONPATH": str(checkout / "src"),
        "DVC_NO_ANALYTICS": "true",
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    cpu_before = read_cpu_seconds()
    start = time.perf_counter()
    subprocess.run(
        ["dvc", "repro", "--force", "--quiet"],
        cwd=checkout,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    seconds = time.perf_counter() - start, read_cpu_seconds() - cpu_before
    wait_for_delivery(checkout)
    return seconds


def wait_for_delivery(checkout: Path) -> None:
    """Return when no process writes to MLflow any more, at the latest after two minutes."""
    deadline = time.monotonic() + DELIVERY_TIMEOUT_S
    with contextlib.chdir(checkout):
        while background.is_at_work() and time.monotonic() < deadline:
            time.sleep(0.2)


def read_cpu_seconds() -> float:
    """Return the CPU seconds of all processes that were started here and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
