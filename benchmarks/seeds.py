"""How often a challenger of the champion's own recipe is promoted, by the luck of its seed.

True shares of right answers vary from seed to seed; challenger and champion answer the same rows,
0 or 1. The challenger is the median of its seeds on validation rows, as `evaluate` chooses it, or
one seed alone.

python benchmarks/seeds.py [--repeats 2000]
"""

import numpy as np
from simulation import print_simulation

from plumbline.contract.params import Champion
from plumbline.contract.task import Metric
from plumbline.evidence.compare import compare_with_champion
from plumbline.statistics.seeds import estimate_spread, find_median_seed

NUM_ROWS, SHARE, HARD = 2000, 0.8, 0.5  # on HARD of the rows the answer depends on the seed
LEVELS = (0.05, 0.005)  # two-sided, of one look: alone, and as one of about twenty
DEVIATIONS = (0.0, 0.01, 0.02)  # of the true share from seed to seed
NUM_SEEDS = (1, 3, 5)
GAIN = 0.05
RULE = Champion(policy="better", margin=0.0)
METRIC = Metric("accuracy", higher_is_better=True, kind="binary")


def measure_promotions(cell: tuple[float, float], repeats: int) -> list[str]:
    """Return how often a challenger is promoted whose recipe has a gain, by its seeds and level."""
    gain, deviation = cell
    cells = [f"better: {deviation:g}" if gain else f"{deviation:g}"]
    for count in NUM_SEEDS:
        random = np.random.default_rng(0)
        won = [_list_promotions(random, deviation, count, gain) for _ in range(repeats)]
        cells += [f"{rate:.3f}" for rate in np.mean(won, axis=0)]
    return cells


def _list_promotions(
    random: np.random.Generator, deviation: float, count: int, gain: float
) -> list[bool]:
    """Whether the challenger of `count` seeds is promoted, at each of LEVELS."""
    is_hard = random.random(NUM_ROWS) < HARD
    easy = (random.random(NUM_ROWS) < SHARE).astype(float)
    qualities = SHARE + gain + deviation * random.standard_normal(count)
    models = [_answer(random, is_hard, easy, quality) for quality in qualities]
    champion = _answer(random, is_hard, easy, SHARE + deviation * random.standard_normal())
    validation = qualities + random.normal(0, 0.008, count)  # of as many rows
    chosen = find_median_seed(dict(enumerate(validation)), higher_is_better=True)
    spread = estimate_spread([float(each.mean()) for each in models]) if count > 1 else None
    return [
        compare_with_champion(models[chosen], champion, METRIC, RULE, level, spread=spread).won
        for level in LEVELS
    ]


def _answer(
    random: np.random.Generator, is_hard: np.ndarray, easy: np.ndarray, quality: float
) -> np.ndarray:
    """Return 0/1 scores [rows] whose share is `quality`: all of its luck is on hard rows."""
    share = np.clip(SHARE + (quality - SHARE) / HARD, 0, 1)
    own = (random.random(NUM_ROWS) < share).astype(float)
    answers: np.ndarray = np.where(is_hard, own, easy)
    return answers


if __name__ == "__main__":
    seeds = [f"{count}, {level:g}" for count in NUM_SEEDS for level in LEVELS]
    cells = [(gain, deviation) for gain in (0.0, GAIN) for deviation in DEVIATIONS]
    print_simulation(__doc__, ["spread", *seeds], measure_promotions, cells, repeats=2000)
