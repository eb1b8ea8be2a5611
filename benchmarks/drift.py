"""How often `plumbline drift` reports drift where there is none, and where there is.

python benchmarks/drift.py [--model models/linear] [--windows 200]

Windows are drawn like the requests of one day, answered by the model, and compared with rows drawn
before them.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.yaml_file import load_yaml
from plumbline.drift import statistical_tests
from plumbline.statistics.intervals import compute_proportion_interval
from plumbline.tasks.text_classification.data.generated import draw_ticket

REFERENCE_ROWS = 900
SIZES, SHARES = (200, 500, 1000), (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
NUM_POWER = 40  # windows for each point of the power curve

Rows = list[dict[str, Any]]


def main() -> None:
    """Print the rate of false alarms, then the power."""
    parser = argparse.ArgumentParser(description="False alarms and power of the drift check.")
    parser.add_argument(
        "--model", type=Path, default=Path("models/linear"), help="the bundle that answers"
    )
    parser.add_argument("--windows", type=int, default=200)
    arguments = parser.parse_args()
    limits = load_yaml(layout.PARAMS)["drift"]
    predictor = bundle.load(arguments.model)
    judge = _judge(predictor, limits["alpha"], limits["min_effect"])
    print(
        f"alpha {limits['alpha']}, least stability index {limits['min_effect']}, "
        f"{arguments.model} answers"
    )
    _print_generated(judge, arguments.windows)


def _judge(predictor: Any, alpha: float, min_effect: float) -> Callable[[Rows, Rows, int], bool]:
    """Whether rows drifted from others."""

    def table(rows: Rows) -> pd.DataFrame:
        told = predictor.predict({"text": [row["text"] for row in rows]})
        given = pd.DataFrame(rows).rename(columns={"text": "input.text"})
        return given.assign(**{f"output.{name}": told[name] for name in ("label", "score")})

    def drifted(old: Rows, new: Rows, seed: int) -> bool:
        found = statistical_tests.compare_tables(table(old), table(new), "output.label", seed)
        return any(test.drifted for test in statistical_tests.judge_tests(found, alpha, min_effect))

    return drifted


def _print_generated(judge: Callable[[Rows, Rows, int], bool], num_windows: int) -> None:
    print(
        f"\ngenerated tickets, {REFERENCE_ROWS} rows of reference; "
        "share of windows that seem to drift"
    )
    print(f"{'rows':>6}{'stable':>24}" + "".join(f"{f'{share:.0%} new':>10}" for share in SHARES))
    for size in SIZES:
        alarms = sum(_drawn(judge, size, 0.0, seed) for seed in range(num_windows))
        power = [
            sum(_drawn(judge, size, share, seed) for seed in range(NUM_POWER)) / NUM_POWER
            for share in SHARES
        ]
        print(
            f"{size:>6}{_share(alarms, num_windows):>24}" + "".join(f"{p:>10.0%}" for p in power),
            flush=True,
        )


def _drawn(judge: Callable[[Rows, Rows, int], bool], size: int, share: float, seed: int) -> bool:
    draw = random.Random(f"drift {size} {share} {seed}")
    old = [_row(draw, 0.0) for _ in range(REFERENCE_ROWS)]
    return judge(old, [_row(draw, share) for _ in range(size)], seed)


def _row(draw: random.Random, drift: float) -> dict[str, Any]:
    found = draw_ticket(draw, drift)
    return {
        "text": found.text,
        "channel": found.channel,
        "product": found.product,
        "variant": found.variant,
    }


def _share(hits: int, total: int) -> str:
    low, high = compute_proportion_interval(hits, total, 0.95)
    return f"{hits / total:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
