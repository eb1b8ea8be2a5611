"""A request that does not fit the signature is refused with what was expected and found."""

import re
from typing import Any

import pytest

from plumbline.contract.task import Field, Signature
from plumbline.serving.errors import BadRequestError
from plumbline.serving.inference_request import build_request
from plumbline.serving.request_body import parse_body

NUMBERS = {"type": "array", "items": {"type": "double"}}


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("string", 1.0, "a number"),
        ("string", 3, "a whole number"),
        ("boolean", 1, "a whole number"),
        ("long", 1.5, "a number"),
        ("long", 2**63, "a whole number out of range"),
        ("double", 10**309, "a whole number out of range"),
        (NUMBERS, 1.0, "a number"),
    ],
)
def test_only_a_number_where_one_is_expected_is_out_of_range(
    kind: Any, value: object, found: str
) -> None:
    signature = Signature((Field("x", kind),), (Field("y", "double"),))
    name = kind if isinstance(kind, str) else kind["type"]
    said = f"row 0: x: expected {name}, found {found}"
    with pytest.raises(BadRequestError, match=f"^{re.escape(said)}$"):
        build_request({"x": [value]}, {}, signature, max_rows=4)


@pytest.mark.parametrize("name", ["Body", "text"])
@pytest.mark.parametrize(
    "layout", ['{{"inputs": {{"{}": ["a"]}}}}', '{{"instances": [{{"{}": "a"}}]}}']
)
def test_json_may_call_a_column_as_the_user_s_file_does(layout: str, name: str) -> None:
    signature = Signature((Field("text", "string"),), (Field("label", "string"),))
    body = layout.format(name).encode()
    request = parse_body(body, "application/json", signature, 4, {"text": "Body"})
    assert request.columns == {"text": ["a"]}
