"""How often the recall at a precision is measured wrongly, and how often the precision is broken.

Two equally good models choose their thresholds on one validation split, as `train` does, and answer
one test split. What is true of a sealed model is what it does on very many rows.

python benchmarks/recall_at_precision.py [--repeats 400]
"""

from typing import NamedTuple

import numpy as np
from metric_coverage import CONFIDENCE, NUM_ROWS_OF_TRUTH, Case, draw_split
from simulation import format_percent, print_simulation

from plumbline.statistics import intervals
from plumbline.statistics.selection import choose_threshold
from plumbline.tasks.text_classification.scoring.chosen_metric import score_recall

CASES = (
    Case("2 classes, 500 rows", (0.8, 0.2), 2.5, 500),
    Case("5 classes, 1,000 rows", (0.4, 0.2, 0.2, 0.1, 0.1), 3.0, 1000),
    Case("20 classes, 2,000 rows", (0.05,) * 20, 4.0, 2000),
)
PRECISIONS = (0.9, 0.95, 0.99)
MIN_KEPT = 100  # pairs of splits where both thresholds are known; of fewer no share is printed
COLUMNS = ("rows", "precision", "recall", "misses", "of the difference", "broken", "none")


class Answers(NamedTuple):
    """What a model answers to rows [rows]: how sure it is, and whether it is right (1 or 0)."""

    scores: np.ndarray
    hits: np.ndarray

    def compute_recall(self, threshold: float) -> float:
        """Return the share of rows that are answered, and rightly."""
        return float((self.hits * (self.scores >= threshold)).mean())


def measure_misses(cell: tuple[Case, float], repeats: int) -> list[str]:
    """Return a row of the table."""
    case, precision = cell
    risk = 1 - precision
    random = np.random.default_rng([case.num_rows, round(1000 * precision)])
    truth = _answer(random, case, NUM_ROWS_OF_TRUTH)
    recalls: list[float] = []
    below, above, missed_differences, broken, unknown = 0, 0, 0, 0, 0
    for _ in range(repeats):
        validation = _answer(random, case, case.num_rows)
        selections = [choose_threshold(*answers, risk, CONFIDENCE) for answers in validation]
        if None in selections:
            unknown += 1
            continue
        thresholds = [selection.threshold for selection in selections if selection]
        test = _answer(random, case, case.num_rows)
        values, true_recalls, recalls_there = [], [], []
        for number, threshold in enumerate(thresholds):
            answered = (test[number].scores >= threshold).astype(float)
            values.append(score_recall(test[number].hits, answered, risk, CONFIDENCE))
            true_recalls.append(truth[number].compute_recall(threshold))
            recalls_there.append(validation[number].compute_recall(threshold))
        winner = int(np.argmax(recalls_there))
        broken += truth[winner].hits[truth[winner].scores >= thresholds[winner]].mean() < precision
        recalls.append(true_recalls[0])
        interval = intervals.compute_mean_interval(values[0], "binary", CONFIDENCE)
        below += interval.low > true_recalls[0]
        above += interval.high < true_recalls[0]
        gain = intervals.compute_gain_interval(*values, "binary", CONFIDENCE)
        difference = true_recalls[0] - true_recalls[1]
        missed_differences += not gain.low <= difference <= gain.high
    kept = len(recalls)
    shares = [""] * 4
    if kept >= MIN_KEPT:
        shares = [
            f"{np.mean(recalls):.2f}",
            f"{format_percent(below, kept)} / {format_percent(above, kept)}",
            format_percent(missed_differences, kept),
            format_percent(broken, kept),
        ]
    return [case.name, f"{precision:g}", *shares, f"{unknown / repeats:.0%}"]


def _answer(random: np.random.Generator, case: Case, num_rows: int) -> tuple[Answers, Answers]:
    """Draw rows, and what two equally good models answer."""
    split = draw_split(random, case, num_rows)
    both = []
    for probabilities in (split.ours, split.theirs):
        hits = (probabilities.argmax(axis=1) == split.labels).astype(float)
        both.append(Answers(probabilities.max(axis=1), hits))
    return both[0], both[1]


if __name__ == "__main__":
    cells = [(case, precision) for case in CASES for precision in PRECISIONS]
    print_simulation(__doc__, COLUMNS, measure_misses, cells, repeats=400)
