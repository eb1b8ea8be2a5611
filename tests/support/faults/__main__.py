"""Injects faults into each stage and each decision, runs again, and compares with no fault.

    python -m tests.support.faults --points 60 --seed 1 [--folder FOLDER]

A fault is at the k-th rename, unlink, fsync or write of a stage below its checkout: the process is
killed, the call fails with EIO, or it and all that follow fail with ENOSPC. Points are drawn by the
seed, in turn from all stages and actions. See docs/faults.md for what it printed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.support.faults.flips import flip_bits
from tests.support.faults.machine import Machine, Outcome, Point

HEADER = ("stage", "fault", "tried", "healed", "clean", "named")


def main() -> int:
    """Try the points, print the table, and return 1 where one is not healed, clean and named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=60, help="how many faults to try")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--flips", type=int, default=200, help="bits to flip in each kind of file")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no point after that")
    parser.add_argument("--folder", type=Path, help="where to work; kept afterwards")
    arguments = parser.parse_args()
    if shutil.which("cc") is None:
        say("faults: skipped: they are compiled by `cc`, which is not on PATH")
        return 0
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="plumbline-faults-"))
    machine = Machine(folder.resolve())
    try:
        outcomes = try_points(machine, arguments.points, arguments.seed, arguments.minutes)
        flips = flip_bits(folder.resolve() / "done", arguments.flips, arguments.seed)
    finally:
        machine.site.end_processes()
        if arguments.folder is None:
            shutil.rmtree(folder)
    print_table(outcomes, len(machine.list_points()))
    print_flips(flips)
    is_silent = any(counts["silent"] for counts in flips.values())
    return int(is_silent or not all(outcome.is_good for outcome in outcomes))


def try_points(
    machine: Machine, num_points: int, seed: int, minutes: float = 600.0
) -> list[Outcome]:
    """Try points that are drawn by the seed; each result that is not good is printed at once."""
    start = time.monotonic()
    outcomes = []
    for point in machine.draw_points(num_points, seed):
        if time.monotonic() - start > minutes * 60:
            break
        outcome = machine.try_point(point)
        outcomes.append(outcome)
        for line in outcome.describe():
            say(f"  {describe_point(point)}: {' '.join(line.split())}")
    say(f"{len(outcomes)} points in {time.monotonic() - start:.0f} s")
    return outcomes


def describe_point(point: Point) -> str:
    """Say where a fault is, such as `train closed: kill at fsync 3`."""
    return f"{point.stage}: {point.action} at {point.kind} {point.number}"


def print_table(outcomes: list[Outcome], num_all: int) -> None:
    """Print a row for each stage and action, as Markdown."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for outcome in outcomes:
        counts = rows.setdefault((outcome.point.stage, outcome.point.action), Counter())
        counts["tried"] += 1
        for name in HEADER[3:]:
            counts[name] += getattr(outcome, f"is_{name}")
    say(f"\n{num_all} points are there to try.\n")
    say(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for (stage, action), counts in sorted(rows.items()):
        cells = (stage, action, *(str(counts[name]) for name in HEADER[2:]))
        say(f"| {' | '.join(cells)} |")


def print_flips(flips: Mapping[str, Counter[str]]) -> None:
    """Print a row for each kind of file in which bits were flipped."""
    names = ("caught", "harmless", "silent")
    say(f"\n| bits flipped in | tried | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}")
    for kind, counts in flips.items():
        cells = (kind, str(counts.total()), *(str(counts[name]) for name in names))
        say(f"| {' | '.join(cells)} |")


def say(line: str) -> None:
    """Print a line at once: a run takes long."""
    print(line, flush=True)  # noqa: T201  what a person asked for


if __name__ == "__main__":
    sys.exit(main())
