"""MLflow's types of values: how each is checked, read from text, and called in other formats."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plumbline.contract.task import Field

DIGITS = frozenset("0123456789+-.eE")
BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class ValueType:
    """What is known of one type."""

    title: str  # for a person
    json: str  # its name in a JSON schema
    tensor: str  # its datatype in the Open Inference Protocol
    arrow: str  # its alias in pyarrow
    matches: Callable[[Any], bool]  # whether a value is of the type
    parse: Callable[[str], Any]  # `read_text` without that check

    def read_text(self, text: str) -> Any:
        """Read a value; ValueError where the text is none of this type."""
        value = self.parse(text)
        if not self.matches(value):
            raise ValueError(f"expected {self.title}")
        return value


def build_cell_parser(field: "Field", parse_json: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return what reads a cell of CSV as a value of its column; `parse_json` reads nested ones.

    An empty cell is None where the column is not required. ValueError, which names the column and
    repeats nothing of the cell, where it is of another type.
    """
    kind = get_value_type(field.type)
    if isinstance(field.type, Mapping):
        kind = replace(kind, parse=parse_json, matches=get_type_check(field.type))

    def parse_cell(text: str) -> Any:
        if not field.required and not text.strip():
            return None
        try:
            return kind.read_text(text)
        except ValueError:
            raise ValueError(f"{field.name}: expected {name_type(field.type)}") from None

    return parse_cell


def get_type_check(kind: Any) -> Callable[[Any], bool]:
    """Return the check for values of a type; a boolean is not a number, numbers are finite.

    `kind` is the type's name or, for a nested type, MLflow's JSON form of it.
    """
    if not isinstance(kind, Mapping):
        return get_value_type(kind).matches
    if kind.get("type") != "array":
        return lambda value: isinstance(value, dict)
    matches = get_type_check(kind.get("items", {}).get("type"))
    return lambda value: isinstance(value, list) and all(map(matches, value))


def get_value_type(kind: Any) -> ValueType:
    """Return what is known of a type by its name; a nested or unknown one is sent as text."""
    return OTHER if isinstance(kind, Mapping) else TYPES.get(kind, OTHER)


def name_type(kind: Any) -> str:
    """Return how messages name a type."""
    return str(kind.get("type")) if isinstance(kind, Mapping) else str(kind)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _require_digits(text: str) -> str:
    """Refuse what int() and float() also accept: 1_000, digits of other alphabets, nan."""
    text = text.strip()
    if not DIGITS.issuperset(text):
        raise ValueError("expected digits")
    return text


TYPES = {
    "integer": ValueType(
        "a whole number",
        json="integer",
        tensor="INT32",
        arrow="int32",
        matches=lambda value: type(value) is int and -(2**31) <= value < 2**31,
        parse=lambda text: int(_require_digits(text)),
    ),
    "float": ValueType(
        "a number",
        json="number",
        tensor="FP32",
        arrow="float",
        matches=_is_number,
        parse=lambda text: float(_require_digits(text)),
    ),
    "boolean": ValueType(
        "true or false",
        json="boolean",
        tensor="BOOL",
        arrow="bool",
        matches=lambda value: isinstance(value, bool),
        parse=lambda text: BOOLEANS.get(text.strip().lower()),
    ),
    "string": ValueType(
        "text",
        json="string",
        tensor="BYTES",
        arrow="string",
        matches=lambda value: isinstance(value, str),
        parse=str,
    ),
}
OTHER = replace(TYPES["string"], matches=lambda _: True)
TYPES |= {
    "long": replace(
        TYPES["integer"],
        tensor="INT64",
        arrow="int64",
        matches=lambda value: type(value) is int and -(2**63) <= value < 2**63,
    ),
    "double": replace(TYPES["float"], tensor="FP64", arrow="double"),
    "binary": replace(OTHER, arrow="binary"),
    "datetime": replace(OTHER, arrow="timestamp[us]"),
}
