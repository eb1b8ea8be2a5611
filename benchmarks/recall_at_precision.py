"""How often the recall at a precision is measured wrongly, and how often the precision is broken.

Two equally good models choose their thresholds on one validation split, as `train` does, and answer
one test split. What is true of a sealed model is what it does on very many rows.

python benchmarks/recall_at_precision.py [--repeats 400]
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from metric_coverage import CONFIDENCE, NUM_ROWS_OF_TRUTH, Case, draw_split

from plumbline.contract.machine import read_cpu_name
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


class Answers(NamedTuple):
    """What a model answers to rows [rows]: how sure it is, and whether it is right (1 or 0)."""

    scores: np.ndarray
    hits: np.ndarray


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description="How often recall at a precision is wrong.")
    parser.add_argument("--repeats", type=int, default=400)
    options = parser.parse_args()
    start = time.perf_counter()
    print(
        "| validation and test | precision | recall | misses | of the difference | broken | none |"
    )
    print("|---|---|---|---|---|---|---|")
    cells = [(case, precision) for case in CASES for precision in PRECISIONS]
    measure = partial(_measure, repeats=options.repeats)
    with ProcessPoolExecutor() as pool:
        for line in pool.map(measure, *zip(*cells, strict=True)):
            print(line, flush=True)
    seconds = time.perf_counter() - start
    print(f"\n{read_cpu_name()}, {seconds:.0f} s; {options.repeats} pairs of splits")


def _measure(case: Case, precision: float, repeats: int) -> str:
    """Return a row of the table."""
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
        values, true_recalls = [], []
        for number, threshold in enumerate(thresholds):
            answered = (test[number].scores >= threshold).astype(float)
            values.append(score_recall(test[number].hits, answered, risk, CONFIDENCE))
            true_answered = truth[number].scores >= threshold
            true_recalls.append(float((truth[number].hits * true_answered).mean()))
        recalls_there = [
            float((answers.hits * (answers.scores >= threshold)).mean())
            for answers, threshold in zip(validation, thresholds, strict=True)
        ]
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
    if kept < MIN_KEPT:
        return f"| {case.name} | {precision:g} | | | | | {unknown / repeats:.0%} |"
    columns = (
        case.name,
        f"{precision:g}",
        f"{np.mean(recalls):.2f}",
        f"{_format_share(below, kept)} / {_format_share(above, kept)}",
        _format_share(missed_differences, kept),
        _format_share(broken, kept),
        f"{unknown / repeats:.0%}",
    )
    return f"| {' | '.join(columns)} |"


def _answer(random: np.random.Generator, case: Case, num_rows: int) -> tuple[Answers, Answers]:
    """Draw rows, and what two equally good models answer."""
    split = draw_split(random, case, num_rows)
    both = []
    for probabilities in (split.ours, split.theirs):
        hits = (probabilities.argmax(axis=1) == split.labels).astype(float)
        both.append(Answers(probabilities.max(axis=1), hits))
    return both[0], both[1]


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}"


if __name__ == "__main__":
    main()
