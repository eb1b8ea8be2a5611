"""Two answers are equal within a tolerance that depends on where both were computed."""

from typing import Any

import pytest

from plumbline.contract.answers import (
    NOTICED,
    OTHER_MACHINE,
    SAME_MACHINE,
    Tolerance,
    is_same_answer,
)


@pytest.mark.parametrize(
    ("tolerance", "one", "other", "expected"),
    [
        (SAME_MACHINE, 0.5, 0.500009, True),
        (SAME_MACHINE, 0.5, 0.50002, False),
        (SAME_MACHINE, 1000.0, 1000.01, False),
        (SAME_MACHINE, [{"label": "a", "score": 1}], [{"label": "a", "score": 1.000001}], True),
        (SAME_MACHINE, [{"label": "a", "score": 1}], [{"label": "a", "score": 1.1}], False),
        (SAME_MACHINE, {"a": 1}, {"a": 1, "b": 1}, False),
        (SAME_MACHINE, ["a"], [], False),
        (SAME_MACHINE, float("nan"), float("nan"), False),
        (OTHER_MACHINE, 0.5, 0.509, True),
        (OTHER_MACHINE, 0.5, 0.511, False),
        (OTHER_MACHINE, 1000.0, 1009.0, True),
        (OTHER_MACHINE, [0.5], [9.0, 1.0], True),
        (OTHER_MACHINE, [0.5], {"a": 0.5}, False),
        (NOTICED, [0.5, ["a"]], [0.504, ["a"]], True),
        (NOTICED, [0.5, ["a"]], [0.6, ["a"]], False),
        (NOTICED, ["a", "b"], ["a", "c"], False),
        (OTHER_MACHINE, float("inf"), 0.5, False),
        (OTHER_MACHINE, 0.5, float("inf"), False),
    ],
)
def test_numbers_may_differ_by_the_tolerance(
    tolerance: Tolerance, one: Any, other: Any, expected: bool
) -> None:
    assert is_same_answer(one, other, tolerance=tolerance) is expected


@pytest.mark.parametrize("tolerance", [SAME_MACHINE, OTHER_MACHINE])
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", "a", True),
        ("a", "A", False),
        (None, None, True),
        (None, "", False),
        (True, True, True),
        (True, False, False),
        (1, True, False),
        (1, "1", False),
        (1, None, False),
        (1, 1.0, True),
    ],
)
def test_everything_else_must_be_the_same(
    tolerance: Tolerance, one: Any, other: Any, expected: bool
) -> None:
    assert is_same_answer(one, other, tolerance=tolerance) is expected
