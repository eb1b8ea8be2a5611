"""How often the interval of a mean misses it: five shapes of scores, four numbers of rows.

python benchmarks/coverage.py [--repeats 2000]
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from simulation import print_simulation

from plumbline.statistics import intervals, power

CONFIDENCE = 0.95
SIZES = (20, 50, 200, 1000)
NUM_RESAMPLES = 999  # a tenth of what a gate draws: the misses are the same, ten times sooner
NUM_SCORES = 400_000  # drawn at most for one cell of the table

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


class Shape(NamedTuple):
    """A distribution of scores, and its true mean."""

    mean: float
    draw: Draw


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


def measure_shape(name: str, repeats: int) -> list[str]:
    """Return misses below and above the truth, and the refused splits, by the number of rows."""
    return [name, *(_measure_cell(name, num_rows, repeats) for num_rows in SIZES)]


def _measure_cell(name: str, num_rows: int, repeats: int) -> str:
    intervals.NUM_RESAMPLES = NUM_RESAMPLES
    shape = SHAPES[name]
    random = np.random.default_rng([num_rows, *name.encode()])
    count = min(repeats, NUM_SCORES // num_rows)
    drawn = shape.draw(random, (count, num_rows))
    ends = np.array(
        [intervals.compute_mean_interval(row, "continuous", CONFIDENCE) for row in drawn]
    )
    below, above = np.mean(ends[:, 0] > shape.mean), np.mean(ends[:, 1] < shape.mean)
    refused = np.mean([power.count_needed_rows(row) > num_rows for row in drawn])
    text = f"{100 * below:.1f} / {100 * above:.1f}"
    return f"{text} ({refused:.0%})" if refused else text


if __name__ == "__main__":
    columns = ["scores", *(f"{rows} rows" for rows in SIZES)]
    print_simulation(__doc__, columns, measure_shape, list(SHAPES), repeats=2000)
