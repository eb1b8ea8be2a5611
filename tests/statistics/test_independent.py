"""Differences of scores on different rows: published examples, and coverage."""

import numpy as np
import pytest

from plumbline.statistics.independent import (
    compute_difference_interval,
    compute_share_difference_interval,
)


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
