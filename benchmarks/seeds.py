"""How often a challenger of the champion's own recipe is promoted, by the luck of its seed.

True shares of right answers vary from seed to seed; challenger and champion answer the same rows,
0 or 1. The challenger is the median of its seeds on validation rows, as `evaluate` chooses it, or
one seed alone. Nominal is half of the level of one look, summed over all looks.

python benchmarks/seeds.py [--repeats 2000]
"""

import argparse
import time

import numpy as np

from plumbline.contract.machine import read_cpu_name
from plumbline.contract.params import Champion
from plumbline.contract.task import Metric
from plumbline.evidence.compare import compare_with_champion
from plumbline.statistics.seeds import estimate_spread, find_median_seed

NUM_ROWS, SHARE, HARD = 2000, 0.8, 0.5  # on HARD of the rows the answer depends on the seed
LEVELS = (0.05, 0.005)  # two-sided, of one look: alone, and as one of about twenty
DEVIATIONS = (0.0, 0.005, 0.01, 0.02)  # of the true share from seed to seed
NUM_SEEDS = (3, 5, 10)
GAIN = 0.05
RULE = Champion(policy="better", margin=0.0)
METRIC = Metric("accuracy", higher_is_better=True, kind="binary")


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description="Promotion of lucky seeds.")
    parser.add_argument("--repeats", type=int, default=2000)
    repeats = parser.parse_args().repeats
    start = time.perf_counter()
    for gain, title in ((0.0, "no better"), (GAIN, f"better by {GAIN:g}")):
        print(f"\nThe challenger's recipe is {title}: share that is promoted.\n")
        columns = [f"one seed, {level:g}" for level in LEVELS]
        columns += [f"{count} seeds, {level:g}" for count in NUM_SEEDS for level in LEVELS]
        print("| spread of seeds | " + " | ".join(columns) + " |")
        print("|---|" + "---|" * len(columns))
        for deviation in DEVIATIONS:
            rates = [*_measure_rates(deviation, 1, gain, repeats)]
            for count in NUM_SEEDS:
                rates += _measure_rates(deviation, count, gain, repeats)
            print(f"| {deviation:g} | " + " | ".join(f"{rate:.4f}" for rate in rates) + " |")
    nominal = ", ".join(f"{level / 2:g} at {level:g}" for level in LEVELS)
    seconds = time.perf_counter() - start
    print(f"\n{read_cpu_name()}, {seconds:.0f} s, {repeats} repeats; nominal {nominal}")


def _measure_rates(deviation: float, count: int, gain: float, repeats: int) -> list[float]:
    random = np.random.default_rng(0)
    won = [_list_promotions(random, deviation, count, gain) for _ in range(repeats)]
    return [float(rate) for rate in np.mean(won, axis=0)]


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
    main()
