"""Limits that a perfect model would fail are found before anything is trained."""

import pytest
from tests.support.small_texts import LIMITS

from plumbline.contract.task import Metric
from plumbline.statistics.reach import find_unreachable_limits

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
