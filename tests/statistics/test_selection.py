"""A threshold that keeps a stated risk keeps it as surely as it says, and is not too careful."""

import numpy as np
import pytest

from plumbline.statistics.selection import THRESHOLDS, choose_threshold


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
    assert selection is not None
    assert selection.threshold == 0.6  # the first above 0.55, below the others
    assert 0 < selection.risk_bound < 0.02
    everything = choose_threshold(scores, np.ones(3000), risk=0.02, confidence=0.95)
    assert everything is not None
    assert everything.threshold == 0


@pytest.mark.parametrize("num_rows", [0, 100, 290])
def test_few_rows_prove_no_small_risk_however_right_they_are(num_rows: int) -> None:
    assert choose_threshold(np.ones(num_rows), np.ones(num_rows), 0.02, 0.95) is None
    assert choose_threshold(np.ones(300), np.ones(300), 0.02, 0.95) is not None


def test_errors_at_the_top_leave_no_threshold() -> None:
    random = np.random.default_rng(0)
    scores = random.random(2000)
    assert choose_threshold(scores, (scores < 0.9).astype(float), 0.02, 0.95) is None
