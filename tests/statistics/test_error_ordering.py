"""AUROC beside sklearn, and by simulation."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from plumbline.statistics.error_ordering import estimate_auroc, measure_error_ordering


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
