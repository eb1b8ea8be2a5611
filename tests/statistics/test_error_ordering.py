"""AUROC beside sklearn and by simulation; a threshold keeps a stated risk as surely as it says."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from plumbline.statistics.error_ordering import estimate_auroc, measure_error_ordering
from plumbline.statistics.selection import THRESHOLDS, choose_threshold


def draw_rows(random: np.random.Generator, num_rows: int, shift: float) -> tuple:
    """Uncertainties with ties, and errors, one in five; an error has `shift` more of it."""
    errors = (random.random(num_rows) < 0.2).astype(float)
    return np.round(random.normal(size=num_rows) + shift * errors, 1), errors


@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
def test_the_area_is_that_of_sklearn(shift: float) -> None:
    uncertainty, errors = draw_rows(np.random.default_rng(0), 500, shift)
    area, (low, high) = estimate_auroc(uncertainty, errors, 0.95)
    assert area == pytest.approx(roc_auc_score(errors, uncertainty))
    assert 0 <= low < area < high <= 1


def test_an_uncertainty_that_knows_nothing_seldom_seems_to_order_errors() -> None:
    random = np.random.default_rng(1)
    lows = []
    for _ in range(2000):
        errors = (random.random(200) < 0.15).astype(float)
        lows.append(estimate_auroc(random.random(200), errors, 0.95)[1].low)
    assert np.mean(np.array(lows) > 0.5) == pytest.approx(0.025, abs=0.012)


def test_a_constant_orders_nothing() -> None:
    errors = np.array([1.0, 0, 0, 1, 0, 0, 0, 0])
    measured = measure_error_ordering(np.full(8, 0.3), errors, 0.95)
    assert (measured.auroc, measured.auroc_interval) == (0.5, (0.5, 0.5))
    assert (measured.num_values, measured.num_errors) == (1, 2)


def test_without_errors_there_is_no_order() -> None:
    for errors in (np.zeros(5), np.ones(5)):
        measured = measure_error_ordering(np.arange(5.0), errors, 0.95)
        assert measured.auroc is None


def test_what_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        measure_error_ordering(np.array([0.1, np.nan]), np.array([0.0, 1.0]), 0.95)


def draw_answers(random: np.random.Generator, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated scores, most of them high, and whether each answer is right."""
    scores = 1 - 0.5 * random.random(num_rows) ** 3
    return scores, (random.random(num_rows) < scores).astype(float)


def test_the_risk_is_broken_less_often_than_stated() -> None:
    random = np.random.default_rng(0)
    scores, hits = draw_answers(random, 500_000)
    true_risks = {t: 1 - hits[scores >= t].mean() for t in THRESHOLDS if (scores >= t).any()}
    chosen = []
    for _ in range(400):
        selection = choose_threshold(*draw_answers(random, 1000), risk=0.05, confidence=0.9)
        chosen.append(selection.threshold if selection else None)
    broken = [threshold for threshold in chosen if threshold and true_risks[threshold] > 0.05]
    assert len(broken) / len(chosen) <= 0.1
    assert sum(threshold is not None for threshold in chosen) > 0.9 * len(chosen)


def test_the_lowest_threshold_that_keeps_the_risk_is_chosen() -> None:
    scores = np.repeat([0.55, 0.72, 0.96], 1000)
    hits = np.ones(3000)
    hits[:300] = 0  # 30 % of the answers with 0.55
    selection = choose_threshold(scores, hits, risk=0.02, confidence=0.95)
    assert selection.threshold == 0.6  # the first above 0.55, below the others
    assert 0 < selection.risk_bound < 0.02
    everything = choose_threshold(scores, np.ones(3000), risk=0.02, confidence=0.95)
    assert everything.threshold == 0


@pytest.mark.parametrize("num_rows", [0, 100, 290])
def test_few_rows_prove_no_small_risk_however_right_they_are(num_rows: int) -> None:
    assert choose_threshold(np.ones(num_rows), np.ones(num_rows), 0.02, 0.95) is None
    assert choose_threshold(np.ones(300), np.ones(300), 0.02, 0.95) is not None


def test_errors_at_the_top_leave_no_threshold() -> None:
    random = np.random.default_rng(0)
    scores = random.random(2000)
    assert choose_threshold(scores, (scores < 0.9).astype(float), 0.02, 0.95) is None
