"""How often the gate `consistency` refuses a sound winner, simulated.

The winner is the best of several candidates and epochs on validation; all of them have the same
true accuracy, on rows of validation and of test that are independent.

python benchmarks/consistency.py [--repeats 5000]
"""

import argparse
import functools
import time

import numpy as np
from machine import read_cpu_name

from plumbline.statistics.independent import compute_share_difference_interval

ROWS = ((100, 130), (500, 700), (1500, 3000), (10000, 10000))  # of validation, of test
ACCURACIES = (0.80, 0.95, 0.99)
NUM_CANDIDATES, NUM_EPOCHS = 3, 6
CORRELATION = 0.8  # of the scores of two candidates on the same rows
CONFIDENCE = 0.999  # of the gate
GAPS = (0.0, 0.01)  # evaluation.max_validation_gap


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description="False refusals of the gate `consistency`.")
    parser.add_argument("--repeats", type=int, default=5_000)
    repeats = parser.parse_args().repeats
    start = time.perf_counter()
    for gap in GAPS:
        print(f"max_validation_gap: {gap}\n")
        print(
            "| rows | " + " | ".join(f"accuracy {accuracy:.2f}" for accuracy in ACCURACIES) + " |"
        )
        print("|---|" + "---|" * len(ACCURACIES))
        for rows in ROWS:
            rates = [_measure_rate(*rows, accuracy, gap, repeats) for accuracy in ACCURACIES]
            print(f"| {rows[0]:,}, {rows[1]:,} | " + " | ".join(f"{r:.2%}" for r in rates) + " |")
        print()
    print(f"{read_cpu_name()}, {time.perf_counter() - start:.0f} s")


def _measure_rate(
    num_validation: int, num_test: int, accuracy: float, gap: float, repeats: int
) -> float:
    """Return the share of sound winners whose scores differ by more than chance and `gap`."""
    random = np.random.default_rng(0)
    shared = random.normal(0, 1, (repeats, 1))
    own = random.normal(0, 1, (repeats, NUM_CANDIDATES * NUM_EPOCHS))
    luck = (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own).max(axis=1)
    deviation = np.sqrt(accuracy * (1 - accuracy) / num_validation)
    best = np.round((accuracy + deviation * luck) * num_validation).clip(0, num_validation)
    hits = random.binomial(num_test, accuracy, repeats)
    refused = 0
    for on_validation, on_test in zip(best.astype(int), hits, strict=True):
        low, high = _compute_interval(
            (int(on_test), num_test), (int(on_validation), num_validation)
        )
        refused += low > gap or high < -gap
    return refused / repeats


@functools.cache
def _compute_interval(test: tuple[int, int], validation: tuple[int, int]) -> tuple[float, float]:
    interval = compute_share_difference_interval(test, validation, CONFIDENCE)
    return interval.low, interval.high


if __name__ == "__main__":
    main()
