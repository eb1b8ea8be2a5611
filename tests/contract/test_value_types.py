"""Values of MLflow's types, read from text, and what a metric may say of itself."""

import json
from typing import Any

import pyarrow as pa
import pytest

from plumbline.contract.task import Field, Metric
from plumbline.contract.value_types import TYPES, build_cell_parser, get_value_type

NUMBERS = {"type": "array", "items": {"type": "double"}}


def parse(kind: Any, text: str, *, required: bool = True) -> Any:
    return build_cell_parser(Field("x", kind, required), json.loads)(text)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("double", " -1.5e3 ", -1500.0),
        ("float", "5", 5.0),
        ("long", "+7", 7),
        ("integer", "-2147483648", -(2**31)),
        ("boolean", "TRUE", True),
        ("string", " a ", " a "),
        ("string", "", ""),
        (NUMBERS, "[1, 2.5]", [1, 2.5]),
    ],
)
def test_a_cell_is_read_as_its_type(kind: Any, text: str, value: Any) -> None:
    found = parse(kind, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[("double", text) for text in ("1_0", "\u0663", "0x10", "nan", "inf", "1e999", "far", "")],
        *[("long", text) for text in ("1_000", "1.0", "9223372036854775808", "9" * 5000, " ")],
        ("integer", "2147483648"),
        ("boolean", "1"),
        (NUMBERS, '["a"]'),
        (NUMBERS, "[1"),
        (NUMBERS, "null"),
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_what_is_no_value_is_refused(kind: Any, text: str, required: bool) -> None:
    if not text.strip() and not required:
        return
    with pytest.raises(ValueError, match=r"^x: expected (double|long|integer|boolean|array)$"):
        parse(kind, text, required=required)


@pytest.mark.parametrize("kind", ["double", "long", "boolean", "string", NUMBERS])
def test_an_empty_cell_of_an_optional_column_is_none(kind: Any) -> None:
    assert parse(kind, "", required=False) is None


def test_arrow_knows_every_type() -> None:
    for name, value_type in TYPES.items():
        assert str(pa.type_for_alias(value_type.arrow)) == value_type.arrow
        assert get_value_type(name) is value_type


def test_a_binary_metric_counts_right_answers() -> None:
    with pytest.raises(ValueError, match=r"the metric wrong: .* count right answers"):
        Metric("wrong", higher_is_better=False, kind="binary")
    assert Metric("right", higher_is_better=True, kind="binary").best == 1.0
