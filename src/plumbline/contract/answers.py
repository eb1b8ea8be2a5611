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


def is_same_answer(one: Any, other: Any, *, tolerance: Tolerance) -> bool:
    """Whether `other` is the answer `one`: equal text, truth or null, numbers within `tolerance`.

    Both are values of JSON. A boolean is not a number; NaN and infinity equal nothing.
    """
    if isinstance(one, bool | str) or one is None:
        return bool(one == other)
    if isinstance(one, int | float):
        allowed = max(tolerance.absolute, tolerance.relative * abs(one))
        is_finite = _is_number(other) and math.isfinite(one) and math.isfinite(other)
        return is_finite and abs(one - other) <= allowed
    if type(one) is not type(other) or not tolerance.nested:
        return type(one) is type(other)
    if isinstance(one, list):
        return len(one) == len(other) and all(
            is_same_answer(left, right, tolerance=tolerance)
            for left, right in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            is_same_answer(one[key], other[key], tolerance=tolerance) for key in one
        )
    return bool(one == other)


def count_differing_rows(
    ours: Mapping[str, Sequence[Any]], theirs: Mapping[str, Sequence[Any]]
) -> int:
    """Count the rows whose first column, the one that users act on, differs between two models.

    All rows differ where the other has no such column. Both have the same number of rows.
    """
    first, *_ = ours
    if first not in theirs:
        return len(ours[first])
    same = [
        is_same_answer(one, other, tolerance=OTHER_MACHINE)
        for one, other in zip(ours[first], theirs[first], strict=True)
    ]
    return same.count(False)


def find_not_finite(answers: Mapping[str, Sequence[Any]]) -> dict[int, str]:
    """Find the rows, from 0, that hold NaN or infinity, nested too, each with the first column."""
    found: dict[int, str] = {}
    for name, values in answers.items():
        for row, value in enumerate(values):
            if not _is_finite(value):
                found.setdefault(row, name)
    return found


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, dict) or all(map(_is_finite, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
