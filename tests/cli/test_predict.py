"""What predict takes as rows, and which answers it does not show."""

import math

import pytest

from plumbline.cli import predict
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.loading import load_task
from plumbline.contract.task import Field, Signature


def test_a_value_of_endless_nesting_is_not_valid_json() -> None:
    with pytest.raises(ParamsError, match="a value: endless nesting"):
        predict._parse_rows(load_task("signal_extraction").signature, ["[" * 50_000], {})


def test_an_infinite_answer_is_refused_as_the_server_does() -> None:
    answers = {"y": [1.0, math.inf], "z": [math.nan, 2.0]}
    with pytest.raises(PlumblineError, match=r"^row 0: z: the model returned NaN or infinity"):
        predict._refuse_not_finite(answers, "line version 1")
    predict._refuse_not_finite({"y": [1.0, 2.0]}, "line version 1")


def test_an_object_names_columns_where_only_one_is_required() -> None:
    inputs = (Field("area", "double"), Field("district", "string", required=False))
    signature = Signature(inputs=inputs, outputs=())
    request = predict._parse_rows(signature, ['{"area": 84.0, "district": "mill"}'], {})
    assert request.columns == {"area": [84.0], "district": ["mill"]}
    assert predict._parse_rows(signature, ["84.0"], {}).columns["area"] == [84.0]


def test_an_object_may_be_the_value_of_the_only_column() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "double"}}}
    signature = Signature(inputs=(Field("spec", spec),), outputs=())
    assert predict._parse_rows(signature, ['{"a": 1.0}'], {}).columns == {"spec": [{"a": 1.0}]}
