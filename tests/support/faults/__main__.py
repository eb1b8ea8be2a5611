"""Injects faults into each stage and each decision, runs again, and compares with no fault.

    python -m tests.support.faults --points 60 --seed 1 [--stages train control] [--actions kill]

A fault is at the k-th rename, unlink, fsync or write of a stage below its checkout: the process is
killed, the call fails with EIO, or it and all that follow fail with ENOSPC. Or the disk of checkout
and temporary files is full at its k-th page. Points are drawn by the seed, in turn from all stages
and actions. With `--results` what was tried is not tried again, and the table is that of all runs.
See docs/faults.md for what it printed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.checkouts import ROOT
from tests.support.faults.disk import enter_own_mounts
from tests.support.faults.flips import flip_bits
from tests.support.faults.machine import ACTIONS, FULL, Machine
from tests.support.faults.pipeline import DECISIONS, SMALLEST, Pipeline, list_tasks
from tests.support.faults.points import Point, Results, draw_points
from tests.support.faults.site import start_commands
from tests.support.faults.tables import print_flips, print_table, say

STAGES = ("ingest", "validate", "train", "control", "evaluate", "register", *DECISIONS)


def main() -> int:
    """Try the points, print the tables, and return 1 where one is not healed, clean and named."""
    arguments = parse_arguments()
    if shutil.which("cc") is None:
        say("faults: skipped: they are compiled by `cc`, which is not on PATH")
        return 0
    enter_own_mounts()
    leave_own_stores()
    results = Results(arguments.results)
    flips = work(arguments, results) if arguments.points or arguments.flips else {}
    outcomes = list(results.outcomes.values())
    print_table(outcomes)
    print_flips(flips)
    is_bad = any(counts["silent"] or counts["traceback"] for counts in flips.values())
    return int(is_bad or not all(outcome.is_good for outcome in outcomes))


def leave_own_stores() -> None:
    """Forget the registry and journal of whoever runs this: only those of the faults are read."""
    for name in list(os.environ):
        if name.startswith("MLFLOW_") or name in ("PLUMBLINE_JOURNAL_URI", "PLUMBLINE_PUBLIC_KEY"):
            del os.environ[name]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=60, help="how many faults to try")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--task", choices=list_tasks(), default=SMALLEST, help="whose pipeline")
    parser.add_argument("--params", type=Path, help="run the task as this params.yaml says")
    for name, values in (("--stages", STAGES), ("--actions", (*ACTIONS, FULL))):
        parser.add_argument(name, nargs="+", choices=values, default=values, help="only these")
    parser.add_argument("--results", type=Path, help="keeps what came of each point; is added to")
    parser.add_argument("--again", action="store_true", help="only what was not good in --results")
    parser.add_argument("--workers", type=int, default=1, help="points at a time")
    parser.add_argument("--flips", type=int, default=200, help="bits to flip in each kind of file")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no point after that")
    parser.add_argument("--folder", type=Path, help="where to work; kept afterwards")
    return parser.parse_args()


def work(arguments: argparse.Namespace, results: Results) -> dict[str, Counter[str]]:
    """Try points and flip bits in a folder that is removed at the end, unless it was named."""
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="plumbline-faults-"))
    machines: list[Machine] = []
    try:
        machines += start_machines(folder.resolve(), arguments)
        points = select_points(machines[0].list_points(), results, arguments)
        try_points(machines, points, results, arguments.minutes)
        return flip_bits(machines[0], arguments.flips, arguments.seed)
    finally:
        for machine in machines:
            machine.site.close()
        if arguments.folder is None:
            shutil.rmtree(folder)


def start_machines(folder: Path, arguments: argparse.Namespace) -> list[Machine]:
    """Prepare a machine for each worker, with one warm Python for all."""
    pipeline = Pipeline(arguments.task, arguments.params)
    start_commands(folder, pipeline)
    has_decisions = not set(DECISIONS).isdisjoint(arguments.stages)

    def prepare(number: int) -> Machine:
        place = folder / f"{arguments.task}-{number}"
        return Machine(place, pipeline, has_decisions=has_decisions)

    with ThreadPoolExecutor(arguments.workers) as pool:
        return list(pool.map(prepare, range(arguments.workers)))


def select_points(
    points: Sequence[Point], results: Results, arguments: argparse.Namespace
) -> list[Point]:
    """Draw points of the chosen stages and faults: new ones, or those that were not good."""
    bad = {point for point, outcome in results.outcomes.items() if not outcome.is_good}
    wanted = []
    for point in points:
        stage = point.stage.partition(" ")[0]
        is_chosen = stage in arguments.stages and point.action in arguments.actions
        is_open = point in bad if arguments.again else point not in results.outcomes
        if is_chosen and is_open:
            wanted.append(point)
    say(f"{len(points)} points are there to try, {len(wanted)} of them are chosen and open")
    return draw_points(wanted, arguments.points, arguments.seed)


def try_points(
    machines: Sequence[Machine], points: Sequence[Point], results: Results, minutes: float = 600.0
) -> None:
    """Let each machine take the next point; each result that is not good is printed at once."""
    start = time.monotonic()
    commit = read_commit()
    waiting = iter(points)  # shared by all workers

    def take_points(machine: Machine) -> int:
        num_tried = 0
        while time.monotonic() - start < minutes * 60 and (point := next(waiting, None)):
            outcome = machine.try_point(point)
            outcome.commit = commit
            results.add(outcome)
            num_tried += 1
            for line in outcome.describe():
                say(f"  {point}: {line}")
        return num_tried

    with ThreadPoolExecutor(len(machines)) as pool:
        try:
            num_tried = sum(pool.map(take_points, machines))
        finally:
            list(waiting)  # interrupted: the points that are under way are the last ones
    say(f"{num_tried} points in {time.monotonic() - start:.0f} s")


def read_commit() -> str:
    """Return the commit of the code that is tried, with `-dirty` where files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
