"""How often the gate `calibration` refuses a model, by its true error and the number of test rows.

Confidence is drawn from a distribution; a model that is off is right less often than it says.

python benchmarks/calibration.py [--repeats 200]
"""

import argparse

import numpy as np
from machine import read_cpu_name

from plumbline.statistics import calibration

LIMIT = 0.05  # as params.yaml is shipped
NUM_ROWS = (200, 400, 1000, 4000)
ERRORS = (0.0, 0.03, 0.05, 0.08, 0.12)


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description="Refusals by the gate calibration.")
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    print("Share refused by the plain error, then where it is significantly above the limit.\n")
    print("| true error | " + " | ".join(f"{num_rows:,} rows" for num_rows in NUM_ROWS) + " |")
    print("|---" * (1 + len(NUM_ROWS)) + "|")
    for error in ERRORS:
        cells = [_measure_refusals(error, num_rows, repeats) for num_rows in NUM_ROWS]
        print(f"| {error:.2f} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{read_cpu_name()}, {repeats} repeats, limit {LIMIT}")


def _measure_refusals(error: float, num_rows: int, repeats: int) -> str:
    random = np.random.default_rng(0)
    plain = 0
    refused = 0
    for _ in range(repeats):
        confidence = 0.15 + 0.85 * random.beta(2, 1, num_rows)
        hits = (random.random(num_rows) < confidence - error).astype(float)
        plain += calibration.compute_calibration_error(confidence, hits) > LIMIT
        found = calibration.measure_calibration(confidence, hits, LIMIT, 0.95)
        refused += found.error > found.highest
    return f"{plain / repeats:.2f}, {refused / repeats:.2f}"


if __name__ == "__main__":
    main()
