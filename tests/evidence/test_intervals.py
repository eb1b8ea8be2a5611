"""Intervals hold what they promise: reference values, coverage by simulation, and no answer where there is none."""

import numpy as np
import pytest

from plumbline.evidence import intervals


def test_wilson_agrees_with_the_worked_example_of_newcombe_1998() -> None:
    low, high = intervals.proportion(81, 263, 0.95)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (10, 10)])
def test_a_perfect_or_hopeless_score_still_has_a_width(hits: int, rows: int) -> None:
    low, high = intervals.proportion(hits, rows, 0.95)
    assert high - low > 0.2


@pytest.mark.parametrize("correlated", [False, True])
def test_the_interval_of_a_paired_gain_covers_the_truth_as_often_as_it_says(correlated: bool) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(600):
        shared = rng.random(150)
        ours = (shared < 0.85).astype(float)
        theirs = ((shared if correlated else rng.random(150)) < 0.75).astype(float)
        low, high = intervals.gain(ours, theirs, "binary", 0.95)
        covered += low <= 0.10 <= high
    assert covered / 600 > 0.93


def test_continuous_scores_are_bootstrapped_and_repeat() -> None:
    values = np.random.default_rng(1).exponential(2.0, 300)
    first = intervals.mean(values, "continuous", 0.95)
    assert first.low < 2.0 < first.high
    assert first == intervals.mean(values, "continuous", 0.95)
    paired = intervals.gain(values + 0.5, values, "continuous", 0.95)
    assert paired == pytest.approx((0.5, 0.5))


def test_exact_mcnemar() -> None:
    ours = np.array([1.0] * 10 + [0.0] * 2 + [1.0] * 30)
    theirs = np.array([0.0] * 10 + [1.0] * 2 + [1.0] * 30)
    assert intervals.mcnemar(ours, theirs) == pytest.approx(2 * sum((1, 12, 66)) / 2**12)
    assert intervals.mcnemar(ours, ours) == 1.0


@pytest.mark.parametrize("values", [np.array([]), np.array([0.1, np.nan]), np.array([np.inf])])
def test_no_interval_without_finite_scores(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"no rows|finite"):
        intervals.mean(values, "continuous", 0.95)


def test_scores_of_other_rows_are_not_paired() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        intervals.gain(np.ones(3), np.ones(4), "binary", 0.95)
