"""What a model answers to rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from plumbline.contract.answers import find_not_finite
from plumbline.contract.errors import PlumblineError
from plumbline.contract.task import Field, Signature
from plumbline.scoring.answers import answer_rows

SIGNATURE = Signature((Field("x", "double"),), (Field("y", "double"),), ())
TWO_ANSWERS = Signature(SIGNATURE.inputs, (*SIGNATURE.outputs, Field("z", "string")), ())


def leave_last_row_out(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {"y": list(columns["x"])[:-1]}


def test_a_model_that_leaves_rows_out_is_named() -> None:
    with pytest.raises(PlumblineError, match="answered 2 of 3 rows in its column y"):
        answer_rows(leave_last_row_out, SIGNATURE, {"x": [1.0, 2.0, 3.0]}, keep_bad=False)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, [1.0, math.nan], {"a": math.inf}])
def test_a_row_with_an_answer_that_is_no_number_is_kept_without_one(value: Any) -> None:
    answers = {"y": [1.0, value, 3.0], "z": ["a", "b", "c"]}
    columns, bad = answer_rows(
        lambda _: answers, TWO_ANSWERS, {"x": [1.0, 2.0, 3.0]}, keep_bad=True
    )
    assert bad == {1: "y: the model returned NaN or infinity"}
    assert columns == {"y": [1.0, None, 3.0], "z": ["a", None, "c"]}


def test_finite_values_and_texts_are_answers() -> None:
    assert find_not_finite({"y": [1.0, None, "nan", 10**400, [], {"a": [True, 2]}]}) == {}
