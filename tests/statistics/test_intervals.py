"""Intervals keep their promise: reference values, coverage by simulation, errors without rows."""

import numpy as np
import pytest
from scipy.stats import t

from plumbline.statistics import intervals
from plumbline.statistics.independent import (
    compute_difference_interval,
    compute_share_difference_interval,
)


def paired(
    both: int, only_ours: int, only_theirs: int, neither: int
) -> tuple[np.ndarray, np.ndarray]:
    """The 0/1 scores of a two by two table."""
    table = np.repeat(
        [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
        [both, only_ours, only_theirs, neither],
        axis=0,
    )
    return table[:, 0], table[:, 1]


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_the_worked_examples_of_newcombe_1998(
    hits: int, rows: int, low: float, high: float
) -> None:
    assert intervals.compute_proportion_interval(hits, rows, 0.95) == pytest.approx(
        (low, high), abs=5e-5
    )


@pytest.mark.parametrize("correlated", [False, True])
def test_the_interval_of_a_paired_gain_covers_the_truth_as_often_as_it_says(
    correlated: bool,
) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(600):
        shared = rng.random(150)
        ours = (shared < 0.85).astype(float)
        theirs = ((shared if correlated else rng.random(150)) < 0.75).astype(float)
        low, high = intervals.compute_gain_interval(ours, theirs, "binary", 0.95)
        covered += low <= 0.10 <= high
    assert covered / 600 > 0.93


def test_the_interval_of_a_paired_gain_agrees_with_the_worked_example_of_bonett_and_price() -> None:
    # ci.prop.ps(.05, 12, 4, 26, 6) of R's statpsych, by Bonett
    low, high = intervals.compute_gain_interval(*paired(6, 26, 4, 12), "binary", 0.95)
    assert (low, high) == pytest.approx((0.2548067, 0.6251933), abs=5e-8)
    assert intervals.estimate_paired_difference(*paired(6, 26, 4, 12)) == pytest.approx(
        (0.44, 0.09448809), abs=5e-9
    )


def compute_bootstrap_t(values: np.ndarray, tail: float, num_resamples: int) -> tuple:
    """Efron and Tibshirani (1993), equation 12.22, resample by resample."""
    random = np.random.default_rng(0)
    error = np.std(values, ddof=1) / np.sqrt(values.size)
    studentised = []
    for _ in range(num_resamples):
        drawn = values[random.integers(values.size, size=values.size)]
        own = np.std(drawn, ddof=1) / np.sqrt(values.size)
        studentised.append((drawn.mean() - values.mean()) / own)
    low, high = np.quantile(studentised, [tail, 1 - tail])
    return values.mean() - high * error, values.mean() - low * error


@pytest.mark.parametrize(("confidence", "num_resamples"), [(0.95, 9_999), (0.999, 49_999)])
def test_the_interval_of_skewed_scores_is_the_wider_of_bootstrap_t_and_students(
    confidence: float, num_resamples: int
) -> None:
    rng = np.random.default_rng(3)
    ours, theirs = rng.exponential(2.0, 60), rng.exponential(1.0, 60)
    values = ours - theirs
    studentised = compute_bootstrap_t(values, (1 - confidence) / 2, num_resamples)
    student = t.interval(confidence, 59, values.mean(), values.std(ddof=1) / np.sqrt(60))
    low, high = intervals.compute_gain_interval(ours, theirs, "continuous", confidence)
    assert low == pytest.approx(min(studentised[0], student[0]), rel=1e-9)
    assert high == pytest.approx(max(studentised[1], student[1]), rel=1e-9)
    assert num_resamples * (1 - confidence) / 2 >= 24.9  # resamples beyond each end


@pytest.mark.parametrize(("rows", "most"), [(20, 0.1), (50, 0.075), (200, 0.05)])
def test_the_interval_misses_a_long_tail_nearly_as_rarely_as_it_says(
    monkeypatch: pytest.MonkeyPatch, rows: int, most: float
) -> None:
    monkeypatch.setattr(intervals, "NUM_RESAMPLES", 999)
    drawn = np.random.default_rng(1).lognormal(size=(1000, rows))
    highs = [intervals.compute_mean_interval(row, "continuous", 0.95).high for row in drawn]
    assert np.mean(np.array(highs) < np.exp(0.5)) < most  # BCa: 0.12, 0.08 and 0.05


@pytest.mark.parametrize("rows", [3, 12, 40])
def test_scores_of_which_nearly_all_are_zero_have_a_finite_interval(rows: int) -> None:
    values = np.zeros(rows)
    values[0] = 1.0
    low, high = intervals.compute_mean_interval(values, "continuous", 0.95)
    assert np.isfinite([low, high]).all()
    assert low < 1 / rows < 3 / rows < high < 40 / rows


def test_continuous_scores_are_bootstrapped_and_repeat() -> None:
    values = np.random.default_rng(1).exponential(2.0, 300)
    first = intervals.compute_mean_interval(values, "continuous", 0.95)
    assert first.low < 2.0 < first.high
    assert first == intervals.compute_mean_interval(values, "continuous", 0.95)
    paired = intervals.compute_gain_interval(values + 0.5, values, "continuous", 0.95)
    assert paired == pytest.approx((0.5, 0.5))


def test_exact_mcnemar_agrees_with_published_tables() -> None:
    assert intervals.compute_mcnemar_p_value(*paired(5, 0, 0, 5)) == 1.0
    assert intervals.compute_mcnemar_p_value(*paired(5, 0, 6, 5)) == pytest.approx(2 * 0.5**6)
    assert intervals.compute_mcnemar_p_value(*paired(48, 28, 35, 53)) == pytest.approx(
        0.45, abs=0.005
    )
    # chi-squared 17.3559 without, 16.818 with the continuity correction: the exact test is between
    assert 3.099e-05 < intervals.compute_mcnemar_p_value(*paired(794, 86, 150, 570)) < 4.12e-05


@pytest.mark.parametrize("values", [np.array([]), np.array([0.1, np.nan]), np.array([np.inf])])
def test_no_interval_without_finite_scores(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"no rows|finite"):
        intervals.compute_mean_interval(values, "continuous", 0.95)


def test_scores_of_other_rows_are_not_paired() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        intervals.compute_gain_interval(np.ones(3), np.ones(4), "binary", 0.95)


def test_newcombe_s_examples() -> None:
    """Newcombe (1998), Statistics in Medicine 17, 873, table II, method 10."""
    assert compute_share_difference_interval((56, 70), (48, 80), 0.95) == pytest.approx(
        (0.0524, 0.3339), abs=5e-5
    )
    assert compute_share_difference_interval((10, 10), (0, 10), 0.95) == pytest.approx(
        (0.6075, 1.0), abs=5e-5
    )


def test_scores_of_0_and_1_have_the_interval_of_shares() -> None:
    ours = (np.arange(70) < 56).astype(float)
    theirs = (np.arange(80) < 48).astype(float)
    assert compute_difference_interval(ours, theirs, "binary", 0.95) == pytest.approx(
        compute_share_difference_interval((56, 70), (48, 80), 0.95)
    )


def test_without_rows_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="no rows"):
        compute_difference_interval(np.zeros(0), np.ones(3), "binary", 0.95)
