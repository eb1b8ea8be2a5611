"""What predict takes as rows, and which answers it does not show."""

import math

import pytest

from plumbline.cli import predict
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.loading import load_task


def test_a_value_of_endless_nesting_is_not_valid_json() -> None:
    with pytest.raises(ParamsError, match="a value: endless nesting"):
        predict._parse_rows(load_task("signal_extraction").signature, ["[" * 50_000], {})


def test_an_infinite_answer_is_refused_as_the_server_does() -> None:
    answers = {"y": [1.0, math.inf], "z": [math.nan, 2.0]}
    with pytest.raises(PlumblineError, match=r"^row 0: z: the model returned NaN or infinity"):
        predict._refuse_not_finite(answers, "line version 1")
    predict._refuse_not_finite({"y": [1.0, 2.0]}, "line version 1")
