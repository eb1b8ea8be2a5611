"""How often the interval of a mean misses it: five shapes of scores, five numbers of rows.

python benchmarks/coverage.py [--repeats 2000]
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from plumbline.contract.machine import read_cpu_name
from plumbline.statistics import intervals, power

CONFIDENCE = 0.95
SIZES = (10, 20, 50, 200, 1000)
NUM_RESAMPLES = 999  # a tenth of what a gate draws: the misses are the same, ten times sooner
NUM_SCORES = 400_000  # drawn at most for one cell of the table

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


class Shape(NamedTuple):
    """A distribution of scores, and its true mean."""

    mean: float
    draw: Draw


class Misses(NamedTuple):
    """Shares of simulated test splits."""

    below: float  # the whole interval is above the mean
    above: float  # the whole interval is below the mean
    refused: float  # by the gate `power`: too few rows


def _draw_contaminated(random: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Zero for four of five rows, an exponential error for the fifth."""
    scores: np.ndarray = (random.random(size) < 0.2) * random.exponential(1.0, size)
    return scores


SHAPES = {
    "normal": Shape(0.0, lambda random, size: random.normal(0.0, 1.0, size)),
    "lognormal": Shape(float(np.exp(0.5)), lambda random, size: random.lognormal(0.0, 1.0, size)),
    "exponential": Shape(1.0, lambda random, size: random.exponential(1.0, size)),
    "t, 3 degrees": Shape(0.0, lambda random, size: random.standard_t(3, size)),
    "80 % zeros": Shape(0.2, _draw_contaminated),
}


def main() -> None:
    """Print the table in Markdown: misses below and above the truth, and the refused splits."""
    parser = argparse.ArgumentParser(description="How often the interval of a mean misses it.")
    parser.add_argument("--repeats", type=int, default=2000)
    repeats = parser.parse_args().repeats
    start = time.perf_counter()
    cells = [(name, num_rows) for name in SHAPES for num_rows in SIZES]
    with ProcessPoolExecutor() as pool:
        jobs = [pool.submit(_measure_cell, name, rows, repeats) for name, rows in cells]
        misses = dict(zip(cells, (job.result() for job in jobs), strict=True))
    print("| scores | " + " | ".join(f"{rows} rows" for rows in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for name in SHAPES:
        print(f"| {name} | " + " | ".join(_format(misses[name, rows]) for rows in SIZES) + " |")
    seconds = time.perf_counter() - start
    print(f"\n{read_cpu_name()}, {seconds:.0f} s; nominal {100 * (1 - CONFIDENCE) / 2:g} %")


def _measure_cell(name: str, num_rows: int, repeats: int) -> Misses:
    intervals.NUM_RESAMPLES = NUM_RESAMPLES
    shape = SHAPES[name]
    random = np.random.default_rng([num_rows, *name.encode()])
    count = min(repeats, NUM_SCORES // num_rows)
    drawn = shape.draw(random, (count, num_rows))
    ends = np.array(
        [intervals.compute_mean_interval(row, "continuous", CONFIDENCE) for row in drawn]
    )
    needed = np.array([power.count_needed_rows(row) for row in drawn])
    return Misses(
        float(np.mean(ends[:, 0] > shape.mean)),
        float(np.mean(ends[:, 1] < shape.mean)),
        float(np.mean(needed > num_rows)),
    )


def _format(misses: Misses) -> str:
    text = f"{100 * misses.below:.1f} / {100 * misses.above:.1f}"
    return f"{text} ({misses.refused:.0%})" if misses.refused else text


if __name__ == "__main__":
    main()
