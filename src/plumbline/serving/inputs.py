"""From the body of a request to the predictor's columns, each value checked against the model's signature."""

import csv
import io
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plumbline.contract.task import Field, Signature
from plumbline.serving import strict_json
from plumbline.serving.refusals import Refusal, bad

Columns = dict[str, list[Any]]
FORMATS = ("inputs", "instances", "dataframe_split", "dataframe_records")
INTEGERS = {"integer": 2**31, "long": 2**63}
FLOATS = ("float", "double")
DIGITS = frozenset("0123456789+-.eE ")
csv.field_size_limit(sys.maxsize)  # the body is limited


@dataclass(frozen=True)
class Asked:
    """What a request asks: columns of equal length, and every inference parameter."""

    columns: Columns
    params: dict[str, Any]

    @property
    def num_rows(self) -> int:
        """How many answers are asked for."""
        return len(next(iter(self.columns.values())))


def read(raw: bytes, content_type: str, signature: Signature, max_rows: int) -> Asked:
    """Read a body in one of the forms that MLflow's scoring server takes. Refusal where it is not."""
    kind, _, rest = content_type.partition(";")
    if rest.strip() and rest.replace(" ", "").lower() not in ("charset=utf-8", 'charset="utf-8"'):
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the charset is UTF-8")
    match kind.strip().lower():
        case "application/json":
            columns, params = _json(strict_json.loads(raw), signature)
        case "text/csv":
            columns, params = _csv(raw, signature, max_rows), {}
        case _:
            raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "send application/json or text/csv")
    return checked(columns, params, signature, max_rows)


def checked(
    columns: Mapping[str, Any], params: Mapping[str, Any], signature: Signature, max_rows: int
) -> Asked:
    """Columns as the signature has them and parameters filled up with defaults; Refusal names what is wrong."""
    names = [field.name for field in signature.inputs]
    if missing := [
        field.name for field in signature.inputs if field.required and field.name not in columns
    ]:
        raise bad(f"no column {missing[0]!r}; the model takes {', '.join(names)}")
    if not columns.keys() <= set(names):
        place = next(place for place, name in enumerate(columns) if name not in names)
        raise bad(f"column {place + 1} is none of the model's: it takes {', '.join(names)}")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise bad("the columns are not equally long")
    if not 1 <= (num_rows := lengths.pop()) <= max_rows:
        too_many = Refusal(
            413, "TOO_MANY_ROWS", f"too many rows; at most {max_rows} in one request"
        )
        raise too_many if num_rows else bad("there is no row")
    absent = [None] * num_rows  # in every request alike, so that they can be answered together
    given = {
        field.name: _column(field, columns.get(field.name, absent)) for field in signature.inputs
    }
    return Asked(given, _params(params, signature))


def _json(body: Any, signature: Signature) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if not isinstance(body, dict):
        raise bad(f"expected an object with one of {', '.join(FORMATS)}")
    forms = [name for name in FORMATS if name in body]
    if len(forms) != 1 or set(body) - {*forms, "params"}:
        raise bad(f"expected exactly one of {', '.join(FORMATS)}, and params if there are any")
    value, params = body[forms[0]], body.get("params", {})
    if not isinstance(params, dict):
        raise bad("params: expected an object")
    if forms[0] == "dataframe_split":
        return _split(value), params
    if forms[0] == "dataframe_records":
        return _records(value), params
    return _free(value, signature), params


def _split(value: Any) -> Columns:
    if not isinstance(value, dict) or not {"columns", "data"} <= set(value) <= {
        "columns",
        "data",
        "index",
    }:
        raise bad("dataframe_split: expected columns and data")
    names, rows = value["columns"], value["data"]
    if not _strings(names) or len(set(names)) != len(names):
        raise bad("dataframe_split.columns: expected names, each once")
    if not isinstance(rows, list):
        raise bad("dataframe_split.data: expected a list of rows")
    for row, values in enumerate(rows):
        if not isinstance(values, list) or len(values) != len(names):
            raise bad(f"row {row}: expected {len(names)} values in a list")
    return {name: [values[place] for values in rows] for place, name in enumerate(names)}


def _records(value: Any) -> Columns:
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise bad("expected a list of objects, one for each row")
    names = list(value[0]) if value else []
    for row, record in enumerate(value):
        if record.keys() != value[0].keys():
            raise bad(f"row {row}: has other columns than row 0")
    return {name: [record[name] for record in value] for name in names}


def _free(value: Any, signature: Signature) -> Columns:
    """`inputs` and `instances`: columns by name, records, or the values of the model's only column."""
    if isinstance(value, dict):
        if not all(isinstance(values, list) for values in value.values()):
            raise bad("expected a list of values for each column")
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return _records(value)
    if isinstance(value, list) and len(signature.inputs) == 1:
        return {signature.inputs[0].name: value}
    raise bad("expected a list of rows or an object of columns")


def _csv(raw: bytes, signature: Signature, max_rows: int) -> Columns:
    """The table in `raw`, which has a first line with names; one row too many is read, and no more."""
    try:
        found = csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        rows = list(itertools.islice(filter(None, found), max_rows + 2))
    except UnicodeDecodeError as error:
        raise bad(f"the body is not UTF-8 (byte {error.start})") from None
    except csv.Error:
        raise bad("the body is not CSV with quotes in pairs") from None
    if not rows or len(set(rows[0])) != len(rows[0]):
        raise bad("expected a first line with the names of the columns, each once")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise bad(f"row {number - 1}: {len(row)} fields; the first line has {len(rows[0])}")
    types = {field.name: field.type for field in signature.inputs}
    return {
        name: [_parsed(types.get(name), row[place], number) for number, row in enumerate(rows[1:])]
        for place, name in enumerate(rows[0])
    }


def _parsed(kind: Any, text: str, row: int) -> Any:
    if isinstance(kind, Mapping):
        return strict_json.loads(text.encode())
    if kind in (*INTEGERS, *FLOATS) and not DIGITS.issuperset(text):
        raise bad(
            f"row {row}: expected {kind}"
        )  # int() and float() also take 1_000, other alphabets' digits, nan
    try:
        if kind in INTEGERS:
            return int(text)
        if kind in FLOATS:
            return float(text)
        if kind == "boolean":
            return {"true": True, "false": False}[text.strip().lower()]
    except (ValueError, KeyError):
        raise bad(f"row {row}: expected {kind}") from None
    return text


def _column(field: Field, values: Any) -> list[Any]:
    fits = _fits(field.type)
    for row, value in enumerate(values):
        if not fits(value) and (field.required or value is not None):
            raise bad(
                f"row {row}: {field.name}: expected {_spoken(field.type)}, found {_kind(value)}"
            )
    return list(values)


def _fits(kind: Any) -> Callable[[Any], bool]:
    """Whether a value is of an MLflow type; bool is no number, and a number is finite."""
    if isinstance(kind, Mapping):
        inner = _fits(kind.get("items", {}).get("type")) if kind.get("type") == "array" else None
        return lambda value: (
            isinstance(value, list) and all(map(inner, value)) if inner else isinstance(value, dict)
        )
    if kind == "string":
        return lambda value: isinstance(value, str)
    if kind in INTEGERS:
        limit = INTEGERS[kind]
        return lambda value: type(value) is int and -limit <= value < limit
    if kind in FLOATS:
        return lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max
    if kind == "boolean":
        return lambda value: isinstance(value, bool)
    return lambda value: True


def _params(found: Mapping[str, Any], signature: Signature) -> dict[str, Any]:
    known = {param.name: param for param in signature.params}
    if set(found) - set(known):
        raise bad(f"params: the model knows {', '.join(known) or 'none'}")
    for name, value in found.items():
        if not _fits(known[name].type)(value):
            raise bad(f"params.{name}: expected {known[name].type}, found {_kind(value)}")
    return {name: found.get(name, param.default) for name, param in known.items()}


def _strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _spoken(kind: Any) -> str:
    return str(kind.get("type")) if isinstance(kind, Mapping) else str(kind)


def _kind(value: Any) -> str:
    names = {
        str: "text",
        bool: "a boolean",
        int: "a whole number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return (
        "null"
        if value is None
        else names[type(value)] + (" out of range" if type(value) in (int, float) else "")
    )
