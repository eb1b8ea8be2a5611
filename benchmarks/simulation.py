"""What simulations share: the option --repeats, a process for each row, and the table."""

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from plumbline.contract.machine import read_cpu_name


def print_simulation(
    description: str,
    columns: Sequence[str],
    measure: Callable[..., list[str]],
    rows: Sequence[Any],
    repeats: int,
) -> None:
    """Print a table in Markdown: `measure` returns the cells of one of `rows`."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=repeats)
    asked = parser.parse_args()
    start = time.perf_counter()
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    with ProcessPoolExecutor() as pool:
        for cells in pool.map(partial(measure, repeats=asked.repeats), rows):
            print(f"| {' | '.join(cells)} |", flush=True)
    seconds = time.perf_counter() - start
    print(f"\n{read_cpu_name()}, {seconds:.0f} s; {asked.repeats} repeats")


def format_percent(count: float, total: int) -> str:
    """Return a share in percent, without the sign."""
    return f"{100 * count / total:.1f}"
