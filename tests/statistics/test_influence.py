"""Values of rows whose mean is a metric of the whole split, and whose spread is that metric's."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from plumbline.statistics.influence import compute_average_precision_values, compute_f1_values


def _draw(
    draw: np.random.Generator, num_rows: int, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which rows have a label, and the scores of two equally good models of them."""
    truth = draw.random(num_rows) < share
    both = 2 * truth + draw.normal(0, 0.7, num_rows)
    ours, theirs = (both + draw.normal(0, 0.7, num_rows) for _ in range(2))
    return truth, ours, theirs


def _compute_f1(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return compute_f1_values(truth, scores > 1)


VALUES = {"F1": _compute_f1, "average precision": compute_average_precision_values}


@pytest.mark.parametrize("decimals", [9, 1, 0])
def test_the_mean_is_the_metric_where_scores_are_equal_too(decimals: int) -> None:
    truth, scores, _ = _draw(np.random.default_rng(5), 400, 0.3)
    scores = scores.round(decimals)
    f1 = compute_f1_values(truth, scores > 1)
    assert f1.mean() == pytest.approx(f1_score(truth, scores > 1))
    average = compute_average_precision_values(truth, scores)
    assert average.mean() == pytest.approx(average_precision_score(truth, scores))


@pytest.mark.parametrize(
    ("compute", "score"),
    [
        (_compute_f1, lambda truth, scores, weights: f1_score(
            truth, scores > 1, sample_weight=weights)),
        (compute_average_precision_values, lambda truth, scores, weights: average_precision_score(
            truth, scores, sample_weight=weights)),
    ],
    ids=["F1", "average precision"],
)  # fmt: skip
def test_a_value_is_what_more_weight_of_its_row_changes(
    compute: Callable[..., np.ndarray], score: Callable[..., float]
) -> None:
    truth, scores, _ = _draw(np.random.default_rng(7), 60, 0.4)
    scores = scores.round(1)
    values = compute(truth, scores)
    change = 1e-6
    for row in range(truth.size):
        weights = np.ones(truth.size)
        weights[row] += change
        slope = (score(truth, scores, weights) - score(truth, scores, np.ones(60))) / change
        assert values[row] == pytest.approx(values.mean() + truth.size * slope, abs=1e-3)


@pytest.mark.parametrize("name", VALUES)
def test_a_label_that_no_row_has_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no row has the label"):
        VALUES[name](np.zeros(4, bool), np.arange(4.0))
