"""Options that several commands take."""

from typing import Any

import pytest

from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.task import Param
from plumbline.contract.value_types import TYPES
from plumbline.terminal.options import parse_inference_params

PARAMS = (
    Param("top_k", "long", 3),
    Param("unit", "string", None),
    Param("exact", "boolean", None),
)


@pytest.mark.parametrize(
    ("pair", "expected"), [("top_k=5", 5), ("unit=Hz", "Hz"), ("unit=", ""), ("exact=false", False)]
)
def test_a_parameter_is_read_as_its_type_also_where_its_default_is_none(
    pair: str, expected: Any
) -> None:
    (value,) = parse_inference_params([pair], PARAMS).values()
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("top_k=many", "--param top_k: expected a whole number, found 'many'"),
        ("exact=no", "--param exact: expected true or false, found 'no'"),
        ("topk=3", "--param topk: unknown.*top_k"),
    ],
)
def test_another_value_is_refused(pair: str, message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        parse_inference_params([pair], PARAMS)


@pytest.mark.parametrize("name", ["text_classification", "signal_extraction"])
def test_every_parameter_of_a_task_can_be_given(name: str) -> None:
    assert {param.type for param in load_task(name).signature.params} <= set(TYPES)
