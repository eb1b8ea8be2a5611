"""How much longer a pass takes because of MLflow tracking: with it, and with it switched off.

    python benchmarks/tracking.py [--passes 3] [--checkout FOLDER]

Runs `dvc repro --force` in a clone of this checkout, or in `--checkout`, in turn with and without
tracking, and compares the medians of wall-clock seconds, of the CPU seconds of the stages, and of
those of all processes. That which writes to MLflow in the background is among the last; after a
pass, and outside of its wall-clock seconds, it is waited for. Linux only.
"""

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from machine import read_cpu_name

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 0.03
PR_SET_CHILD_SUBREAPER = 36  # of prctl
MEASURES = ("wall-clock", "CPU of the stages", "CPU of all processes")


def main() -> None:
    """Print the seconds of each pass, and how much longer those with tracking took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=3, help="of each kind")
    parser.add_argument("--checkout", type=Path, help="where to run; default: a clone of this")
    arguments = parser.parse_args()
    print(f"{read_cpu_name()}, {os.cpu_count()} cores")
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        checkout = arguments.checkout or Path(folder) / "checkout"
        if arguments.checkout is None:
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
            run_pass(checkout, "off")  # fills caches of files, and makes the first champion
        compare(checkout, arguments.passes)


def compare(checkout: Path, num_passes: int) -> None:
    """Run passes of both kinds in turn, and print how they differ."""
    results: dict[str, list[list[float]]] = {"on": [], "off": []}
    for number in range(num_passes):
        for tracking in ("on", "off") if number % 2 else ("off", "on"):
            results[tracking].append(run_pass(checkout, tracking))
            wall_s, stages_s, all_s = results[tracking][-1]
            print(
                f"tracking {tracking}: {wall_s:.1f} s, CPU {stages_s:.1f} s of stages, "
                f"{all_s:.1f} s of all",
                flush=True,
            )
    for place, name in enumerate(MEASURES):
        median = {key: statistics.median(row[place] for row in results[key]) for key in results}
        share = median["on"] / median["off"] - 1
        print(f"{name}: {median['on']:.1f} s on, {median['off']:.1f} s off: {share:+.1%}")
    print(f"the limit of the wall-clock time is {LIMIT:+.0%}")


def run_pass(checkout: Path, tracking: str) -> list[float]:
    """Run the pipeline once and return its seconds, in the order of `MEASURES`.

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
    wall_s = time.perf_counter() - start
    stages_s = read_cpu_seconds() - cpu_before
    wait_for_orphans()
    return [wall_s, stages_s, read_cpu_seconds() - cpu_before]


def adopt_orphans() -> None:
    """Become the parent of what outlives its own: what it took is known when it was waited for."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError("prctl: not permitted")


def wait_for_orphans() -> None:
    """Return when no process writes to MLflow any more."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def read_cpu_seconds() -> float:
    """Return the CPU seconds of all processes that were started here and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
