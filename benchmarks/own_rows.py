"""How often the gate `champion` keeps a better challenger where test rows are gone or relabelled.

    python -m benchmarks.own_rows [--repeats 1000]

In %, on today's rows alone / on the champion's own rows too: a tenth of the answers differ.
"""

import argparse

import numpy as np
from benchmarks.refused_sound_models import CHECKS, LIMITS, METRIC
from tests.support.questions import Facts

CHANGES = {  # shares of the champion's rows that are gone, relabelled and new
    "nothing": (0, 0, 0), "1 % gone": (0.01, 0, 0), "2 % gone": (0.02, 0, 0),
    "4 % gone": (0.04, 0, 0), "3 % relabelled": (0, 0.03, 0), "20 % new": (0, 0, 0.2),
}  # fmt: skip


def count_kept(shares: tuple[float, ...], num_rows: int, gain: float, repeats: int) -> str:
    """Return how often the champion stays, by both rules; random rows changed."""
    random, kept = np.random.default_rng(0), np.zeros(2)
    gone, relabelled, new = (round(share * num_rows) for share in shares)
    rows = {"gone": gone, "relabelled": [*range(relabelled)]}
    rows["new"] = [*range(num_rows - gone, num_rows - gone + new)]
    for _ in range(repeats):
        won = random.choice(3, num_rows - gone + new, p=[0.9, 0.05 + gain / 2, 0.05 - gain / 2])
        ours, theirs = (won != 2).astype(float), (won != 1).astype(float)
        facts = Facts(METRIC, LIMITS, ours, champion=theirs, data_changes={"test_rows": rows})
        asked = facts.build()
        kept += not asked.champion_comparison.won, CHECKS["champion"](asked).status == "fail"
    return "{:.1f} / {:.1f}".format(*100 * kept / repeats)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1000)
    times = parser.parse_args().repeats
    for name, shares in CHANGES.items():
        cells = [count_kept(shares, n, g, times) for n in (1000, 5000) for g in (0.05, 0.03)]
        print(f"| {name} | {' | '.join(cells)} |")
