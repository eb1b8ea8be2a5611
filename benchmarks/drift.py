"""How often `plumbline drift` reports drift where there is none, and where there is.

python benchmarks/drift.py [--repeats 200]

Windows of tickets, a share of them new, are answered by models/linear as requests of a day, and
compared with rows that were drawn before. Beside the false alarms is their 95 % interval.
"""

import random
from pathlib import Path

import pandas as pd
from simulation import format_percent, print_simulation

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import Predictor
from plumbline.contract.yaml_file import load_yaml
from plumbline.drift import statistical_tests
from plumbline.statistics.intervals import compute_proportion_interval
from plumbline.tasks.text_classification.data.generated import draw_ticket

MODEL = Path("models/linear")
REFERENCE_ROWS = 900
SIZES, SHARES = (200, 500, 1000), (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
NUM_POWER = 40  # windows for each share that is new


def measure_size(num_rows: int, repeats: int) -> list[str]:
    """Return how often windows of so many rows seem to drift, in %, by the share that is new."""
    predictor = bundle.load(MODEL)
    alarms = count_alarms(predictor, num_rows, 0.0, repeats)
    low, high = compute_proportion_interval(alarms, repeats, 0.95)
    cells = [str(num_rows), f"{format_percent(alarms, repeats)} ({low:.1%} to {high:.1%})"]
    for share in SHARES:
        found = count_alarms(predictor, num_rows, share, NUM_POWER)
        cells.append(format_percent(found, NUM_POWER))
    return cells


def count_alarms(predictor: Predictor, num_rows: int, share: float, num_windows: int) -> int:
    """Count the windows that the check calls drifted."""
    limits, count = load_yaml(layout.PARAMS)["drift"], 0
    for seed in range(num_windows):
        draw = random.Random(f"drift {num_rows} {share} {seed}")
        old = draw_table(predictor, draw, REFERENCE_ROWS, 0.0)
        new = draw_table(predictor, draw, num_rows, share)
        found = statistical_tests.compare_tables(old, new, "output.label", seed)
        judged = statistical_tests.judge_tests(found, limits["alpha"], limits["min_effect"])
        count += any(test.drifted for test in judged)
    return count


def draw_table(
    predictor: Predictor, draw: random.Random, num_rows: int, share: float
) -> pd.DataFrame:
    """Draw tickets and answer them; the columns are those of a log."""
    tickets = [vars(draw_ticket(draw, share)) for _ in range(num_rows)]
    table = pd.DataFrame(tickets)[["text", "channel", "product", "variant"]]
    told = predictor.predict({"text": table["text"].tolist()})
    given = table.rename(columns={"text": "input.text"})
    return given.assign(**{f"output.{name}": told[name] for name in ("label", "score")})


if __name__ == "__main__":
    columns = ["rows", "none new", *(f"{share:.0%}" for share in SHARES)]
    print_simulation(__doc__, columns, measure_size, SIZES, repeats=200)
