"""Error rates keep their promise: published values, closed forms, simulation with fixed seeds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, t
from tests.support.small_texts import LIMITS

from plumbline.contract.task import Metric
from plumbline.statistics import intervals, power
from plumbline.statistics.intervals import Kind
from plumbline.statistics.reach import find_unreachable_limits

MANY = settings(max_examples=50, deadline=None)


def paired(num_rows: int, only_ours: int, only_theirs: int) -> tuple[np.ndarray, np.ndarray]:
    ours, theirs = np.ones(num_rows), np.ones(num_rows)
    theirs[:only_ours] = 0
    ours[only_ours : only_ours + only_theirs] = 0
    return ours, theirs


def noise(num_rows: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Two scores whose differences have exactly this standard deviation."""
    differences = np.random.default_rng(num_rows).normal(size=num_rows)
    differences = (differences - differences.mean()) / differences.std(ddof=1) * spread
    return differences, np.zeros(num_rows)


# the smallest difference a test split can tell


def test_a_detectable_share_agrees_with_a_published_sample_size() -> None:
    # 155 pairs tell 0.30 from 0.15 with a power of 0.801 at 0.05 two-sided (Connor 1987)
    found = power.compute_detectable_difference(*paired(155, 35, 35), "binary", 0.05, 0.801)
    assert found == pytest.approx(0.15, abs=0.0005)


def test_a_detectable_effect_agrees_with_a_published_sample_size() -> None:
    # 34 pairs for an effect of 0.5 with a power of 0.8 at 0.05 two-sided (Cohen 1988)
    assert power.compute_detectable_difference(*noise(34, 1.0), "continuous", 0.05) < 0.5
    assert power.compute_detectable_difference(*noise(33, 1.0), "continuous", 0.05) > 0.5


@pytest.mark.parametrize("wanted", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("level", [0.05, 0.001, 0.0002])
@pytest.mark.parametrize("rows", [10_000, 100_000])
def test_many_rows_find_the_closed_form_of_the_normal(
    rows: int, level: float, wanted: float
) -> None:
    found = power.compute_detectable_difference(*noise(rows, 1.0), "continuous", level, wanted)
    assert found == pytest.approx(
        (norm.isf(level / 2) + norm.ppf(wanted)) / math.sqrt(rows), rel=0.002
    )


def test_models_that_never_differ_need_a_few_rows_of_difference() -> None:
    same = paired(1000, 0, 0)
    found = power.compute_detectable_difference(*same, "binary", 0.05)
    # 6 rows, all one way, are the least that McNemar's exact test takes for a difference
    assert 6 < found * 1000 < 9
    assert power.compute_detectable_difference(*same, "continuous", 0.05) == 0.0


@pytest.mark.parametrize(
    ("kind", "rows", "level"),
    [("binary", 5, 0.05), ("binary", 13, 0.0002), ("binary", 19, 0.00001), ("continuous", 1, 0.05)],
)
def test_too_few_rows_say_so(kind: Kind, rows: int, level: float) -> None:
    with pytest.raises(ValueError, match=f"^{rows} test rows are too few"):
        power.compute_detectable_difference(*paired(rows, 1, 0), kind, level)
    assert power.compute_detectable_difference(*paired(rows + 1, 1, 0), kind, level) > 0


# which loss is significant


def test_worse_agrees_with_students_sleep_data() -> None:
    first = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    second = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    assert power.compute_loss_p_value(first, second, 0.0, "continuous") == pytest.approx(
        0.002833 / 2, abs=5e-7
    )  # t = -4.0621, df 9
    assert power.compute_loss_p_value(second, first, 0.0, "continuous") == pytest.approx(
        1 - 0.002833 / 2, abs=5e-7
    )
    differences = first - second
    reached = (differences.mean() + 1.0) / (differences.std(ddof=1) / math.sqrt(10))
    assert power.compute_loss_p_value(first, second, 1.0, "continuous") == pytest.approx(
        t.cdf(reached, 9)
    )


@MANY
@given(
    st.integers(30, 400),
    st.integers(0, 15),
    st.integers(0, 15),
    st.floats(0, 0.2),
    st.floats(0.5, 0.999),
)
def test_worse_and_the_interval_agree(
    rows: int, only_ours: int, only_theirs: int, margin: float, confidence: float
) -> None:
    scores = paired(rows, only_ours, only_theirs)
    high = intervals.compute_gain_interval(*scores, "binary", confidence).high
    if abs(high + margin) > 1e-9:
        assert (power.compute_loss_p_value(*scores, margin, "binary") < (1 - confidence) / 2) == (
            high < -margin
        )


@pytest.mark.parametrize(
    ("loss", "margin", "p_value"),
    [(0.5, 0.1, 0.0), (0.1, 0.5, 1.0), (0.0, 0.0, 1.0), (0.3, 0.3, 1.0), (-1.0, 0.0, 1.0)],
)
def test_equal_differences_are_decided_by_their_size(
    loss: float, margin: float, p_value: float
) -> None:
    theirs = np.linspace(0.1, 0.9, 7)
    assert power.compute_loss_p_value(theirs - loss, theirs, margin, "continuous") == p_value


def test_one_row_shows_nothing() -> None:
    assert power.compute_loss_p_value(np.array([0.0]), np.array([9.0]), 0.1, "continuous") == 1.0


@pytest.mark.parametrize(
    ("rows", "discordant", "margin"), [(50, 0.2, 0.05), (200, 0.15, 0.05), (1000, 0.1, 0.02)]
)
def test_a_share_at_the_margin_is_called_worse_no_more_often_than_the_level(
    rows: int, discordant: float, margin: float
) -> None:
    shares = [(discordant - margin) / 2, (discordant + margin) / 2, 1 - discordant]
    drawn = np.random.default_rng(2).multinomial(rows, shares, 2000)
    p_values = [
        power.compute_loss_p_value(*paired(rows, ours, theirs), margin, "binary")
        for ours, theirs, _ in drawn
    ]
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)


# several at once


def test_holm_decides_as_a_published_example() -> None:
    # the example of Holm in R's package HDLSSkST, at 0.05
    adjusted = power.adjust_p_values([0.50, 0.01, 0.001, 0.69, 0.02, 0.05, 0.0025])
    assert adjusted == pytest.approx([1.0, 0.05, 0.007, 1.0, 0.08, 0.15, 0.015])  # by hand
    assert power.adjust_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
    assert power.adjust_p_values([0.04]) == [0.04]
    assert power.adjust_p_values([]) == []


# one test split, asked again and again

# Pocock-type spending, 5 equal steps, 0.05 two-sided (Lan and DeMets 1983)
BOUNDS = [2.438, 2.427, 2.410, 2.397, 2.386]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_spending_agrees_with_published_bounds(number: int) -> None:
    times = np.arange(1, number + 1) / 5
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    bounds = np.array(BOUNDS[:number])
    inside = multivariate_normal.cdf(
        bounds, np.zeros(number), correlation, lower_limit=-bounds, abseps=1e-5, rng=0
    )
    assert sum(power.spend_level(use, 5, 0.05) for use in range(1, number + 1)) == pytest.approx(
        1 - inside, abs=5e-5
    )


@MANY
@given(st.integers(1, 60), st.floats(0.001, 0.2))
def test_all_uses_together_spend_alpha_the_earliest_most(planned: int, alpha: float) -> None:
    levels = [power.spend_level(number, planned, alpha) for number in range(1, planned + 1)]
    assert sum(levels) == pytest.approx(alpha)
    assert all(earlier > later > 0 for earlier, later in itertools.pairwise(levels))
    assert power.spend_level(planned + 1, planned, alpha) == 0.0


# how many rows skewed scores need


def test_skewed_scores_need_more_rows() -> None:
    normal = norm.ppf((np.arange(200) + 0.5) / 200)
    assert power.count_needed_rows(normal) == power.MIN_ROWS
    assert power.count_needed_rows(np.exp(normal)) > power.MIN_ROWS
    assert power.count_needed_rows(np.full(5, 0.3)) == power.MIN_ROWS


@pytest.mark.parametrize(("num_large", "is_enough"), [(1, False), (4, False), (6, True)])
def test_a_few_rows_must_carry_the_mean(num_large: int, is_enough: bool) -> None:
    scores = np.zeros(1000)
    scores[:num_large] = 1.0
    assert (power.count_needed_rows(scores) <= 1000) == is_enough


ACCURACY = Metric("accuracy", higher_is_better=True, kind="binary")
ERROR = Metric("error", higher_is_better=False, kind="continuous")


def test_limits_that_a_perfect_model_meets_are_not_named() -> None:
    assert find_unreachable_limits(LIMITS, ACCURACY, 900, 0.2) == []
    assert find_unreachable_limits(LIMITS, ACCURACY, 900, 0.9) == []
    assert find_unreachable_limits(LIMITS, ERROR, 900, None) == []


@pytest.mark.parametrize(
    ("change", "num_rows", "majority", "named"),
    [
        ({"floor": 0.99}, 60, 0.2, "evaluation.floor is 0.99, which no model can reach on 60 test"),
        ({"floor": 1.01}, 9000, 0.2, "evaluation.floor is 1.01"),
        ({"min_gain_over_baseline": 0.9}, 60, 0.5, "evaluation.min_gain_over_baseline is 0.9"),
        ({"floor": 0.1, "min_gain_over_baseline": 0.0}, 6, None, "6 test rows are too few"),
    ],
)
def test_a_limit_that_no_model_can_meet_is_named(
    change: dict, num_rows: int, majority: float | None, named: str
) -> None:
    limits = LIMITS.model_copy(update=change)
    (sentence,) = find_unreachable_limits(limits, ACCURACY, num_rows, majority)
    assert named in sentence


def test_continuous_scores_of_few_rows_are_named() -> None:
    (sentence,) = find_unreachable_limits(LIMITS, ERROR, 40, None)
    assert "40 test rows, continuous scores need 50" in sentence
