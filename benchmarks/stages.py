"""Where the seconds of the pipeline go: of each stage, and of imports.

    python benchmarks/stages.py [--recipe NAME] [--cold] [--passes 1] [--untracked]

Runs `plumbline run` in a clone of this commit, then again with nothing to do, then `plumbline
report`, as `make run` does. Prints wall and CPU seconds, and of both how many imports took. With
`--cold` no module is compiled yet, as after `make setup`. `--untracked` switches MLflow's
tracking off, for the difference; more passes run every stage again. Linux only.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SECONDS = ("wall", "CPU", "imports: wall", "CPU")


def main() -> None:
    """Print a table of seconds for each pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", help="as in `plumbline recipe use`; default: params.yaml")
    parser.add_argument("--cold", action="store_true", help="compile every module that is imported")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--untracked", action="store_true", help="without MLflow's tracking")
    arguments = parser.parse_args()
    from machine import list_vector_units

    from plumbline.contract.machine import read_cpu_name

    print(f"{read_cpu_name()} ({', '.join(list_vector_units())}), {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        checkout = Path(folder) / "checkout"
        environment = build_environment(checkout, Path(folder), arguments)
        prepare_checkout(checkout, environment, arguments.recipe)
        for number in range(arguments.passes):
            force = ["--force"] if number else []
            print_pass(measure_pass(checkout, environment, ["run", *force]))
        for command in (["run"], ["report"]):
            wall_s, cpu_s = measure(["plumbline", *command], checkout, environment)
            title = "run with nothing to do" if command == ["run"] else "report"
            print(f"{title:<28}{wall_s:8.1f}{cpu_s:8.1f}", flush=True)


def prepare_checkout(checkout: Path, environment: dict[str, str], recipe: str | None) -> None:
    """Clone this commit, and let its stages run below `run_stage`."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    if recipe:
        use = ["plumbline", "recipe", "use", recipe]
        subprocess.run(use, cwd=checkout, env=environment, check=True)
    pipeline = checkout / "dvc.yaml"
    text = pipeline.read_text(encoding="utf-8")
    below = f"cmd: {sys.executable} {Path(__file__).resolve()} --stage"
    pipeline.write_text(text.replace("cmd: python -P", below), encoding="utf-8")


def build_environment(
    checkout: Path, folder: Path, arguments: argparse.Namespace
) -> dict[str, str]:
    """Return what a user's shell has, without what would send runs elsewhere."""
    removed = ("MLFLOW_TRACKING_URI", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(checkout / "src"),
        "STAGE_SECONDS": str(folder / "seconds.jsonl"),
        "DVC_NO_ANALYTICS": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    if arguments.cold:
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    if arguments.untracked:
        environment["PLUMBLINE_TRACKING"] = "off"
    return environment


def measure_pass(
    checkout: Path, environment: dict[str, str], command: list[str]
) -> list[tuple[str, list[float]]]:
    """Run the pipeline, and return the seconds of each part by its name."""
    path = Path(environment["STAGE_SECONDS"])
    path.unlink(missing_ok=True)
    wall_s, cpu_s = measure(["plumbline", *command], checkout, environment)
    stages = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [(row["name"], row["seconds"]) for row in stages]
    sums = [sum(values) for values in zip(*(values for _, values in rows), strict=True)]
    rows.append(("plumbline run, DVC and MLflow", [wall_s - sums[0], cpu_s - sums[1]]))
    rows.append(("all", [wall_s, cpu_s, *sums[2:]]))
    return rows


def measure(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall and CPU seconds of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - start
    if process.returncode not in (0, 20):
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return wall_s, usage.ru_utime + usage.ru_stime


def print_pass(rows: list[tuple[str, list[float]]]) -> None:
    """Print the seconds of each part of a pass."""
    print(f"{'seconds':<28}" + "".join(f"{name:>{len(name) + 2}}" for name in SECONDS))
    for name, values in rows:
        print(f"{name:<28}" + "".join(f"{value:8.1f}" for value in values), flush=True)


def run_stage(script: str, arguments: list[str]) -> None:
    """Run a stage in this process as DVC would, and write down its seconds when it ends."""
    clock = _ImportClock()
    start = time.perf_counter()
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        times = os.times()
        seconds = [
            time.perf_counter() - start,
            sum(times[:4]),  # of its children too
            clock.wall_s,
            clock.cpu_s,
        ]
        name = " ".join([Path(script).stem, *arguments])
        with Path(os.environ["STAGE_SECONDS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "seconds": seconds}) + "\n")


class _ImportClock:
    """The seconds that the main thread spends in imports, nested ones once."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0
        self._depth = 0
        self._main = threading.get_ident()
        library: Any = sys.modules["_frozen_importlib"]
        self._find_and_load = library._find_and_load
        library._find_and_load = self._time

    def _time(self, name: str, importer: Any) -> Any:
        if self._depth or threading.get_ident() != self._main:
            return self._find_and_load(name, importer)
        self._depth += 1
        start, cpu = time.perf_counter(), time.thread_time()
        try:
            return self._find_and_load(name, importer)
        finally:
            self.wall_s += time.perf_counter() - start
            self.cpu_s += time.thread_time() - cpu
            self._depth -= 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stage"]:
        sys.path.pop(0)  # as python -P has it
        run_stage(sys.argv[2], sys.argv[3:])
    else:
        main()
