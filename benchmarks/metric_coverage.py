"""How often intervals of macro-F1 and average precision miss them.

Test splits are drawn at random, with the answers of two models that are equally good. The intervals
are those of the gates, of values of rows (statistics.influence).

python benchmarks/metric_coverage.py [--repeats 400]
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from simulation import format_percent, print_simulation

from plumbline.statistics import influence, intervals, power

CONFIDENCE = 0.95
NUM_RESAMPLES = 999  # a tenth of what a gate draws: the misses are the same, ten times sooner
NUM_ROWS_OF_TRUTH = 400_000


class Case(NamedTuple):
    """Classes by their share, how far the right one is above the others, and the rows of a test."""

    name: str
    shares: tuple[float, ...]
    distance: float
    num_rows: int


class Split(NamedTuple):
    """The classes of rows [rows], and the probabilities of two models [rows, classes]."""

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray


CASES = (
    Case("2 classes, 500 rows", (0.8, 0.2), 2.0, 500),
    Case("5 classes, 1,000 rows", (0.4, 0.2, 0.2, 0.1, 0.1), 2.0, 1000),
    Case("20 classes, 200 rows", (0.05,) * 20, 3.0, 200),
    Case("3 rare of 4, 1,000 rows", (0.97, 0.01, 0.01, 0.01), 3.0, 1000),
)
COLUMNS = ("test split", "metric", "misses", "gains", "refused")


def measure_misses(cell: tuple[Case, str], repeats: int) -> list[str]:
    """Return a row of the table: misses below and above the truth, false gains, refusals."""
    case, name = cell
    intervals.NUM_RESAMPLES = NUM_RESAMPLES
    compute = METRICS[name]
    random = np.random.default_rng([case.num_rows, *name.encode()])
    large = draw_split(random, case, NUM_ROWS_OF_TRUTH)
    truth = float(compute(large.labels, large.ours).mean())
    below, above, false_gains, refused = 0, 0, 0, 0
    for _ in range(repeats):
        split = draw_split(random, case, case.num_rows)
        ours = compute(split.labels, split.ours)
        theirs = compute(split.labels, split.theirs)
        gain = intervals.compute_gain_interval(ours, theirs, "continuous", CONFIDENCE)
        is_gain = not gain.low <= 0 <= gain.high
        needed = power.count_needed_rows(ours)
        if is_gain:
            needed = max(needed, power.count_needed_rows(ours - theirs))
        if needed > case.num_rows:
            refused += 1
            continue
        interval = intervals.compute_mean_interval(ours, "continuous", CONFIDENCE)
        below += interval.low > truth
        above += interval.high < truth
        false_gains += is_gain
    kept = max(1, repeats - refused)
    return [
        case.name,
        f"{name} {truth:.2f}",
        f"{format_percent(below, kept)} / {format_percent(above, kept)}",
        format_percent(false_gains, kept),
        f"{refused / repeats:.0%}",
    ]


def draw_split(random: np.random.Generator, case: Case, num_rows: int) -> Split:
    """Draw rows: what is hard about a row is hard for both models."""
    shares = np.array(case.shares)
    labels = random.choice(shares.size, num_rows, p=shares)
    both = np.eye(shares.size)[labels] * case.distance
    both += random.normal(0, 0.7, both.shape) + np.log(shares)
    logits = [both + random.normal(0, 0.7, both.shape) for _ in range(2)]
    ours, theirs = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in logits)
    return Split(labels, ours, theirs)


def _compute_f1(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    answers = probabilities.argmax(axis=1)
    classes = np.unique(labels)
    return np.mean(
        [influence.compute_f1_values(labels == name, answers == name) for name in classes], axis=0
    )


def _compute_average_precision(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    values = [
        influence.compute_average_precision_values(labels == name, probabilities[:, name])
        for name in np.unique(labels)
    ]
    return np.mean(values, axis=0)


# From labels and probabilities to values of rows.
METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "macro-F1": _compute_f1,
    "average precision": _compute_average_precision,
}

if __name__ == "__main__":
    cells = [(case, name) for case in CASES for name in METRICS]
    print_simulation(__doc__, COLUMNS, measure_misses, cells, repeats=400)
