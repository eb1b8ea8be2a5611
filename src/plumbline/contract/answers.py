"""When an answer is one, and when two answers to the same question count as equal."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOT_FINITE = "the model returned NaN or infinity"  # which nobody is given as an answer


@dataclass(frozen=True)
class Tolerance:
    """How far two numbers may differ: by `absolute`, or by `relative` times the first of them."""

    absolute: float
    relative: float
    nested: bool  # whether lists and objects are compared; if not, only that both are one


# The same model in another process: the order of a sum may differ, an answer may not.
SAME_MACHINE = Tolerance(absolute=1e-5, relative=0.0, nested=True)
# Another CPU rounds int8 in another way: scores move, what is decided from them may not.
OTHER_MACHINE = Tolerance(absolute=0.01, relative=0.01, nested=False)
# Two models: what a user would notice of an answer; and one may add up in another order.
NOTICED = Tolerance(absolute=0.01, relative=0.01, nested=True)
ROUNDING = Tolerance(absolute=1e-5, relative=1e-5, nested=True)


def is_same_answer(one: Any, other: Any, *, tolerance: Tolerance) -> bool:
    """Whether `other` is the answer `one`: equal text, truth or null, numbers within `tolerance`.

    Both are values of JSON. A boolean is not a number; NaN and infinity equal nothing.
    """
    if isinstance(one, bool | str) or one is None:
        return bool(one == other)
    if isinstance(one, int | float):
        allowed = max(tolerance.absolute, tolerance.relative * abs(one))
        is_number = isinstance(other, int | float) and not isinstance(other, bool)
        return is_number and abs(one - other) <= allowed < math.inf
    if type(one) is not type(other) or not tolerance.nested:
        return type(one) is type(other)
    if isinstance(one, dict):
        return _match(one, other, tolerance)
    return len(one) == len(other) and all(
        is_same_answer(left, right, tolerance=tolerance)
        for left, right in zip(one, other, strict=True)
    )


def pick_decision(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What users act on in the answer to a row: its first output, and each list of texts."""
    kept = dict([*answer.items()][:1])
    for name, value in answer.items():
        if isinstance(value, list) and any(isinstance(each, str) for each in value):
            kept[name] = value
    return kept


def is_other_decision(
    one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance = ROUNDING
) -> bool:
    """Whether the answers of two models to a row ask for different things of a user."""
    return not _match(pick_decision(one), pick_decision(other), tolerance)


def find_not_finite(answers: Mapping[str, Sequence[Any]]) -> dict[int, str]:
    """Find the rows, from 0, that hold NaN or infinity, nested too, each with the first column."""
    found: dict[int, str] = {}
    for name, values in answers.items():
        for row, value in enumerate(values):
            if not _is_finite(value):
                found.setdefault(row, name)
    return found


def _match(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance) -> bool:
    return one.keys() == other.keys() and all(
        is_same_answer(value, other[name], tolerance=tolerance) for name, value in one.items()
    )


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, dict) or all(map(_is_finite, value.values()))
