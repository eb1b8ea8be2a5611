"""Where the seconds of the pipeline go: of each stage, and of imports.

    python benchmarks/stages.py [--recipe NAME]

Runs `plumbline run` in a clone of this commit, then again with nothing to do, then `plumbline
report`, as `make run` does. Prints wall and CPU seconds, and of both how many imports took. No
module is compiled yet, as after `make setup`. Linux only.
"""

import argparse
import json
import os
import runpy
import sys
import threading
import time
from pathlib import Path
from typing import Any

HEAD = ("seconds", "wall", "CPU", "imports: wall", "imports: CPU")
REFUSED = 20  # the exit code of a run that a gate refuses


def main() -> None:
    """Print a table of seconds."""
    from machine import list_vector_units
    from processes import clone_checkout, measure_process, open_folder

    from plumbline.contract.machine import read_cpu_name

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recipe", help="as in `plumbline recipe`; default: params.yaml")
    recipe = parser.parse_args().recipe
    print(f"{read_cpu_name()} ({', '.join(list_vector_units())}), {os.cpu_count()} cores\n")
    with open_folder("plumbline-") as folder:
        checkout, seconds = folder / "checkout", folder / "seconds.jsonl"
        environment = clone_checkout(
            checkout,
            recipe,
            STAGE_SECONDS=str(seconds),
            PYTHONPYCACHEPREFIX=str(folder / "compiled"),
        )
        pipeline = checkout / "dvc.yaml"
        below = f"cmd: {sys.executable} {Path(__file__).resolve()} --stage"
        text = pipeline.read_text(encoding="utf-8").replace("cmd: python -P", below)
        pipeline.write_text(text, encoding="utf-8")
        commands = {"run": "all", "run again": "with nothing to do", "report": "report"}
        print("|", " | ".join(HEAD), "|\n" + "|---" * len(HEAD) + "|", flush=True)
        for command, title in commands.items():
            started = ["plumbline", command.split()[0]]
            cost = measure_process(started, checkout, environment, codes=(0, REFUSED))
            if title == "all":
                rows = [json.loads(line) for line in seconds.read_text().splitlines()]
                for row in rows:
                    print_row(row["name"], row["seconds"])
                sums = [sum(values) for values in zip(*(r["seconds"] for r in rows), strict=True)]
                rest = [cost.seconds - sums[0], cost.cpu_seconds - sums[1]]
                print_row("plumbline run, DVC and MLflow", rest)
            print_row(title, [cost.seconds, cost.cpu_seconds])


def print_row(name: str, seconds: list[float]) -> None:
    """Print a row in Markdown."""
    cells = [f"{value:.1f}" for value in seconds]
    print("|", " | ".join([name, *cells]), "|", flush=True)


def run_stage(script: str, arguments: list[str]) -> None:
    """Run a stage in this process as DVC would, and write down its seconds when it ends."""
    clock = _ImportClock()
    start = time.perf_counter()
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        spent = sum(os.times()[:4])  # of its children too
        seconds = [time.perf_counter() - start, spent, clock.wall_s, clock.cpu_s]
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
