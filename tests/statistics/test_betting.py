"""Tests by betting: exact products, any order, ends of the span, the level at every look."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.statistics.betting import (
    ShareTest,
    compute_e_value,
    compute_interval,
    compute_log_wealth,
    find_stake,
    negate,
)

MANY = settings(max_examples=50, deadline=None)
PAIRS = (-1.0, 1.0)  # the span of a difference of two scores
GAIN = {-1.0: 0.04, 0.0: 0.9, 1.0: 0.06}  # two points, where the two differ on 10 %
counts_of_pairs = st.dictionaries(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), st.integers(0, 40))
means = st.floats(-0.9, 0.9)


def multiply(rows: list[float], mean: float, stakes: list[float]) -> list[Fraction]:
    """What each stake has after all rows within PAIRS, without rounding."""
    at = Fraction(mean) + 1
    return [
        math.prod(
            (1 + Fraction(stake) * ((Fraction(x) + 1) / at - 1) for x in rows), start=Fraction(1)
        )
        for stake in stakes
    ]


@MANY
@given(counts_of_pairs, means)
def test_an_e_value_is_the_mean_of_products_in_any_order(
    counts: dict[float, int], mean: float
) -> None:
    rows = list(np.random.default_rng(0).permutation(list(Counter(counts).elements())))
    stakes = [0.75 / 2**halvings for halvings in range(10)]
    halvings = sum(multiply(rows, mean, stakes)) / 10
    assert compute_e_value(counts, mean, span=PAIRS) == pytest.approx(float(halvings), rel=1e-9)
    stake = find_stake(GAIN, mean, span=PAIRS)
    both = (multiply(rows, mean, [stake])[0] + halvings) / 2
    found = compute_e_value(counts, mean, span=PAIRS, planned=GAIN)
    assert found == pytest.approx(float(both), rel=1e-9)


@MANY
@given(counts_of_pairs, counts_of_pairs, means)
def test_counts_of_replicas_are_added(
    one: dict[float, int], other: dict[float, int], mean: float
) -> None:
    rows = [*Counter(one).elements(), *Counter(other).elements()]
    added = Counter(one) + Counter(other)
    found = compute_e_value(added, mean, span=PAIRS)
    assert found == pytest.approx(compute_e_value(Counter(rows), mean, span=PAIRS), rel=1e-9)


@MANY
@given(counts_of_pairs, st.floats(0.001, 0.5))
def test_an_interval_is_what_neither_side_rejects(counts: dict[float, int], level: float) -> None:
    low, high = compute_interval(counts, level, span=PAIRS)
    assert -1 <= low < high <= 1
    num_rows = sum(counts.values())
    if num_rows:
        mean = sum(value * number for value, number in counts.items()) / num_rows
        assert low - 1e-12 <= mean <= high + 1e-12
    for inside in (low + 1e-9, (low + high) / 2, high - 1e-9):
        assert compute_e_value(counts, inside, span=PAIRS) < 2 / level
        assert compute_e_value(negate(counts), -inside, span=PAIRS) < 2 / level
    if low > -1:
        assert compute_e_value(counts, low - 1e-9, span=PAIRS) >= 2 / level


def test_an_interval_agrees_with_the_tests_whose_stakes_were_planned() -> None:
    loss = negate(GAIN)
    stakes = find_stake(GAIN, 0.0, span=PAIRS), find_stake(negate(loss), 0.0, span=PAIRS)
    assert stakes[0] == pytest.approx(0.2)  # Kelly's: the gain by the share that differs
    for won in range(60, 110):
        counts = {-1.0: 50, 0.0: 1500, 1.0: won}
        for level in (0.05, 0.02):
            low, _ = compute_interval(counts, level, span=PAIRS, stakes=stakes)
            shown = compute_e_value(counts, 0.0, span=PAIRS, planned=GAIN) >= 2 / level
            assert (low > 0) == shown
            _, high = compute_interval(negate(counts), level, span=PAIRS, stakes=stakes)
            assert (high < 0) == shown


def test_an_interval_of_a_share_is_about_that_of_a_mixture() -> None:
    # Robbins' Beta mixture finds 0.909 to 0.964
    assert compute_interval({0.0: 60, 1.0: 940}, 0.05) == pytest.approx((0.910, 0.962), abs=0.002)


def test_without_rows_nothing_is_known() -> None:
    for counts in ({}, {1.0: 0}):
        assert compute_e_value(counts, 0.5) == pytest.approx(1)
        assert compute_e_value(counts, 0.0, planned={1.0: 1.0}) == pytest.approx(1)
        assert compute_interval(counts, 0.05) == pytest.approx((0, 1))


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_values_give_an_interval_that_narrows_to_them(value: float) -> None:
    ends = [compute_interval({value: number}, 0.05) for number in (10, 1000, 10**6, 10**12)]
    assert all(low <= value <= high for low, high in ends)
    widths = [high - low for low, high in ends]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 1e-4


def test_means_at_the_ends_of_the_span_and_beyond_have_a_number() -> None:
    assert compute_e_value({0.0: 10**9}, 0.0) == 1
    assert compute_e_value({0.0: 10**9, 0.1: 1}, 0.0) == compute_e_value({1.0: 1}, -3.0) > 1e300
    assert compute_e_value({0.0: 5, 1.0: 3}, 5e-324) == compute_e_value({1.0: 10**12}, 0.5) > 1e300
    assert compute_e_value({1.0: 10**12}, 1.0) == pytest.approx(1)
    assert compute_e_value({1.0: 10**12}, 1.2) < 1e-100


@pytest.mark.parametrize(
    "counts", [{1.1: 1}, {-0.1: 1}, {math.nan: 1}, {math.inf: 1}, {0.5: -1}, {0.5: math.nan}]
)
def test_a_value_outside_of_the_span_and_a_negative_count_are_refused(
    counts: dict[float, float],
) -> None:
    with pytest.raises(ValueError, match=r"not within 0\.0 to 1\.0"):
        compute_e_value(counts, 0.5)
    rounded = {0.1 + 0.2 + 0.7: 3, 1 + 1e-12: 1, -1e-12: 1}
    assert compute_e_value(rounded, 0.5) == pytest.approx(compute_e_value({1.0: 4, 0.0: 1}, 0.5))


@pytest.mark.parametrize("mean", [-0.9, 0.0, 0.019])
def test_a_planned_stake_is_the_best_one_and_never_beyond_the_bound(mean: float) -> None:
    stake = find_stake(GAIN, mean, span=PAIRS)

    def compute_growth(stake: float) -> float:
        return sum(p * math.log1p(stake * ((x + 1) / (mean + 1) - 1)) for x, p in GAIN.items())

    assert 0 < stake <= 0.75
    assert compute_growth(stake) >= max(map(compute_growth, np.linspace(0, 0.75, 500))) - 1e-12
    assert find_stake({1.0: 1.0}, mean, span=PAIRS) == pytest.approx(0.75)
    assert find_stake({mean: 1.0}, mean, span=PAIRS) == 0


@pytest.mark.parametrize("planned", [None, {0.0: 0.05, 1.0: 0.95}])
def test_the_level_holds_at_all_looks(planned: dict[float, float] | None) -> None:
    """400 sound series of 20 looks, the mean at the limit: 5 % may ever be rejected."""
    random = np.random.default_rng(1)
    rejected, missed = 0, 0
    for hits in random.binomial(50, 0.9, size=(400, 20)).cumsum(axis=1):
        looks = [{1.0: n, 0.0: 50 * (i + 1) - n} for i, n in enumerate(map(int, hits))]
        rejected += any(compute_e_value(look, 0.9, planned=planned) >= 20 for look in looks)
        missed += any(compute_e_value(negate(look), -0.9, span=(-1, 0)) >= 20 for look in looks)
    assert 0 < rejected <= 20
    assert 0 < missed <= 20


def test_the_level_holds_against_who_chooses_each_value_by_what_was_won() -> None:
    """Equal models; where much or little was won, they differ on all rows, else on few."""
    random, numbers, stake = np.random.default_rng(3), np.zeros((1000, 3)), 0.2
    heights, edge = np.array([0.0, 1.0, 2.0]), math.log(20)
    rejected = np.zeros(1000, bool)
    for _ in range(1000):
        logs = compute_log_wealth(heights, numbers, 1.0, stake)
        each = np.where((logs > edge - 0.5) | (logs > -1), 0.5, 0.02)
        drawn = random.random(1000)
        numbers += np.stack([drawn < each, abs(drawn - 0.5) <= 0.5 - each, drawn > 1 - each], 1)
        rejected |= compute_log_wealth(heights, numbers, 1.0, stake) >= edge
    assert 0 < rejected.sum() <= 50


@pytest.mark.parametrize("stake", [-0.1, 1.0, math.nan])
def test_a_stake_that_could_lose_more_than_all_is_refused(stake: float) -> None:
    with pytest.raises(ValueError, match="a stake is a share"):
        compute_interval({0.0: 3, 1.0: 5}, 0.05, stakes=(stake, None))


def test_a_share_test_holds_its_level_where_groups_of_all_sizes_are_alike() -> None:
    random, failed = np.random.default_rng(5), 0
    for _ in range(200):
        test = ShareTest(0.1, 0.15, alpha=0.05)
        for size in random.choice([0, 1, 3, 16, 500], 300):
            test.add(int(size), int(random.binomial(size, random.beta(0.1, 0.9))))
        failed += test.failed
    assert failed <= 10
