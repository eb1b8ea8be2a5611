"""How often a challenger that learns from what it is shown of the test split is promoted.

Each challenger is the best so far with new answers on some rows: half of those right, half wrong,
so that no challenger is truly better than the champion. 20 looks, at the levels that gates use.

python benchmarks/adaptive.py [--repeats 200]
"""

import numpy as np
from simulation import print_simulation

from plumbline.contract.params import Champion
from plumbline.contract.task import Metric
from plumbline.evidence.compare import compare_with_champion
from plumbline.statistics.power import spend_level

NUM_ROWS, NUM_LOOKS, ALPHA = 900, 20, 0.05
CHANGED = (20, 45, 90)  # test rows that each new challenger answers otherwise
MAX_FLIPS = 20  # rows won and rows lost that were listed
RULE = Champion(policy="better", margin=0.0)
METRIC = Metric("accuracy", higher_is_better=True, kind="binary")
STEP = np.sqrt(0.1 / NUM_ROWS)  # the standard error of a difference on a tenth of the rows
SHOWN = {
    "rows won and lost": "flips",
    "exact scores": "exact",
    "scores rounded to their standard error": "rounded",
    "scores better by a standard error (Ladder)": "ladder",
    "nothing until promoted (plumbline)": "nothing",
}


def measure_promotions(name: str, repeats: int) -> list[str]:
    """Return how often one is promoted, by the number of rows that each changes."""
    cells = [name]
    for changed in CHANGED:
        random = np.random.default_rng(0)
        promoted = [_is_promoted(random, SHOWN[name], changed) for _ in range(repeats)]
        cells.append(f"{np.mean(promoted):.3f}")
    return cells


def _is_promoted(random: np.random.Generator, shown: str, changed: int) -> bool:
    """Whether one of NUM_LOOKS challengers is promoted; gains are 1, 0 or -1 [rows]."""
    best = np.zeros(NUM_ROWS)
    best_score = 0.0
    for number in range(1, NUM_LOOKS + 1):
        gains = best.copy()
        rows = random.choice(np.flatnonzero(best == 0), changed, replace=False)
        gains[rows] = random.choice([-1.0, 1.0], changed)
        ours, theirs = (gains >= 0).astype(float), (gains <= 0).astype(float)
        level = spend_level(number, NUM_LOOKS, ALPHA)
        if compare_with_champion(ours, theirs, METRIC, RULE, level).won:
            return True
        best, best_score = _learn(shown, gains, best, best_score)
        if np.count_nonzero(best == 0) < changed:
            return False
    return False


def _learn(
    shown: str, gains: np.ndarray, best: np.ndarray, best_score: float
) -> tuple[np.ndarray, float]:
    """Return what the next challenger starts from, and the score that is known of it."""
    score = float(gains.mean())
    if shown == "flips":
        kept = gains.copy()
        kept[np.flatnonzero(gains < 0)[:MAX_FLIPS]] = 0
        return kept, best_score
    if shown == "nothing":
        return best, best_score
    if shown == "rounded":
        score = round(score / STEP) * STEP
    needed = best_score + (STEP if shown == "ladder" else 0.0)
    return (gains, score) if score > needed else (best, best_score)


if __name__ == "__main__":
    columns = ["shown after each look", *(f"{rows} rows" for rows in CHANGED)]
    print_simulation(__doc__, columns, measure_promotions, list(SHOWN), repeats=200)
