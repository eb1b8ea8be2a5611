"""What seeds make of scores: which one ships, and an interval in which a lucky one stays."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from plumbline.statistics.intervals import Interval
from plumbline.statistics.seeds import (
    SeedSpread,
    compute_seed_reach,
    estimate_spread,
    find_median_seed,
    widen_interval,
)


@pytest.mark.parametrize(
    ("scores", "higher_is_better", "median"),
    [
        ({7: 0.9, 8: 0.95, 9: 0.92}, True, 9),
        ({7: 0.9, 8: 0.95, 9: 0.92}, False, 9),
        ({7: 0.9, 8: 0.95, 9: 0.92, 10: 0.91}, True, 10),  # the worse of the two in the middle
        ({7: 0.9, 8: 0.95, 9: 0.92, 10: 0.91}, False, 9),
        ({7: 0.9, 8: 0.9, 9: 0.9}, True, 8),
        ({7: 0.9}, True, 7),
    ],
)
def test_the_median_ships(scores: dict[int, float], higher_is_better: bool, median: int) -> None:
    assert find_median_seed(scores, higher_is_better=higher_is_better) == median


def test_the_spread_is_the_standard_deviation_of_a_sample() -> None:
    spread = estimate_spread([0.90, 0.92, 0.94])
    assert (spread.num_seeds, spread.mean) == (3, pytest.approx(0.92))
    assert spread.deviation == pytest.approx(0.02)


def test_the_interval_lies_around_the_mean_of_the_seeds() -> None:
    assert widen_interval(Interval(0.02, 0.10), 0.06, 0.05, 0.03) == pytest.approx((0.0, 0.1))


def test_the_reach_is_that_of_one_more_draw() -> None:
    reach = compute_seed_reach(SeedSpread(5, 0.9, 0.01), 0.95)
    assert reach == pytest.approx(t.isf(0.025, 4) * math.sqrt(1.2) * 0.01)


@pytest.mark.parametrize("num_seeds", [3, 5, 10])
@pytest.mark.parametrize("seed_error", [0.0, 1.0, 10.0])  # of one model, in standard errors of rows
@pytest.mark.parametrize("level", [0.05, 0.002])
def test_a_lucky_seed_is_no_better_model(num_seeds: int, seed_error: float, level: float) -> None:
    """Both models from one recipe: the interval lies above 0 no more often than the level says.

    Rates are computed from the normal distribution of the difference, not counted.
    """
    quantiles = (np.arange(300) + 0.5) / 300
    draws = chi2.ppf(quantiles, num_seeds - 1) / (num_seeds - 1)
    of_seeds = seed_error**2 + 0.5  # two models of one recipe differ by twice 0.5 on rows
    error = math.sqrt(of_seeds * (1 + 1 / num_seeds))
    reach = norm.isf(level / 2)
    rates = []
    for draw in draws:
        spread = SeedSpread(num_seeds, 0.9, math.sqrt(of_seeds * draw))
        seed_reach = compute_seed_reach(spread, 1 - level)
        needed = -widen_interval(Interval(-reach, reach), 0.0, 0.0, seed_reach).low
        rates.append(norm.sf(needed / error))
    assert np.mean(rates) <= 1.1 * level / 2
