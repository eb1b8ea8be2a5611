"""The right answers: requests to the model `wide`, parsed independently by another JSON parser."""

import json
import math
import re
from typing import Any

from pydantic_core import from_json

from plumbline.contract.task import Field, Param, Signature

NUMBERS = {"type": "array", "items": {"type": "double"}}
INPUTS = {"text": "string", "count": "long", "ratio": "double", "yes": "boolean", "marks": NUMBERS}
SIGNATURE = Signature(
    inputs=tuple(Field(name, kind) for name, kind in INPUTS.items()),
    outputs=(
        *(Field(name, kind) for name, kind in INPUTS.items()),
        Field("length", "long"),
        Field("top_k", "long"),
    ),
    params=(Param("top_k", "integer", 3),),
)
ROW = {"text": "a", "count": 1, "ratio": 0.5, "yes": True, "marks": [1.0, 2.0]}
MAX_ROWS, MAX_DEPTH = 1024, 32
DATATYPES = {
    "text": {"BYTES"},
    "count": {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "ratio": {"FP16", "FP32", "FP64"},
    "yes": {"BOOL"},
    "marks": {"FP16", "FP32", "FP64"},
}
Rows = list[dict[str, Any]]


class WrongError(Exception):
    """The request has no right answer."""


def invocations(raw: bytes) -> Rows:
    """The rows that a JSON body must be answered with. WrongError where it must be refused."""
    body = parsed(raw)
    forms = {"inputs", "instances", "dataframe_split", "dataframe_records"}
    _must(
        isinstance(body, dict) and len(forms & set(body)) == 1 and set(body) <= forms | {"params"}
    )
    (form,) = forms & set(body)
    value, params = body[form], body.get("params", {})
    if form == "dataframe_split":
        _must(
            isinstance(value, dict)
            and {"columns", "data"} <= set(value) <= {"columns", "data", "index"}
        )
        names, data = value["columns"], value["data"]
        _must(
            isinstance(names, list)
            and all(isinstance(name, str) for name in names)
            and isinstance(data, list)
        )
        _must(
            len(set(names)) == len(names)
            and all(isinstance(row, list) and len(row) == len(names) for row in data)
        )
        rows = [dict(zip(names, row, strict=True)) for row in data]
    elif isinstance(value, dict) and form != "dataframe_records":
        _must(all(isinstance(values, list) for values in value.values()))
        _must(set(value) == set(INPUTS) and len({len(values) for values in value.values()}) == 1)
        rows = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    else:
        _must(isinstance(value, list))
        rows = value
    return _answers(rows, params)


def infer(raw: bytes) -> Rows:
    """The same for a body of the Open Inference Protocol."""
    body = parsed(raw)
    _must(
        isinstance(body, dict)
        and {"inputs"} <= set(body) <= {"id", "inputs", "parameters", "outputs"}
    )
    _must(body.get("id") is None or (isinstance(body["id"], str) and len(body["id"]) <= 200))
    _must(
        isinstance(body["inputs"], list)
        and all(isinstance(tensor, dict) for tensor in body["inputs"])
    )
    columns: dict[str, list[Any]] = {}
    for tensor in body["inputs"]:
        name, shape, data = tensor.get("name"), tensor.get("shape"), tensor.get("data")
        _must(isinstance(name, str) and name in INPUTS and name not in columns)
        _must(set(tensor) <= {"name", "shape", "datatype", "data", "parameters"})
        _must(isinstance(tensor.get("datatype"), str) and tensor["datatype"] in DATATYPES[name])
        _must(isinstance(shape, list) and isinstance(data, list) and 1 <= len(shape) <= 8)
        _must(all(type(size) is int and 0 <= size < 2**31 for size in shape))
        flat = _flat(data, shape)
        _must(len(flat) == math.prod(shape))
        width = math.prod(shape[1:])
        if name == "marks":
            columns[name] = [flat[row * width : (row + 1) * width] for row in range(shape[0])]
        else:
            _must(width == 1)
            columns[name] = flat
    _must(set(columns) == set(INPUTS) and len({len(values) for values in columns.values()}) == 1)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    answers = _answers(rows, body.get("parameters", {}))
    outputs = body.get("outputs", [])
    _must(isinstance(outputs, list) and all(isinstance(output, dict) for output in outputs))
    names = [output.get("name") for output in outputs]
    _must(all(isinstance(name, str) and name in answers[0] for name in names))
    _must(len(set(names)) == len(names))
    return [{name: row[name] for name in names or row} for row in answers]


def cells(rows: list[dict[str, str]]) -> Rows:
    """The same for the cells of a CSV body, before they are quoted."""
    return _answers([{name: _cell(name, text) for name, text in row.items()} for row in rows], {})


def parsed(raw: bytes) -> Any:
    """Parse strict JSON with pydantic (Rust); it accepts duplicate keys and 1e999: check both."""
    _must(len(raw) <= 4_000_000)
    try:
        json.loads(raw, object_pairs_hook=_once)
        value = from_json(raw, allow_inf_nan=False)
    except (ValueError, RecursionError):
        raise WrongError from None
    _bounded(value, 0)
    return value


def _answers(rows: Any, params: Any) -> Rows:
    _must(isinstance(rows, list) and 1 <= len(rows) <= MAX_ROWS)
    _must(isinstance(params, dict) and set(params) <= {"top_k"})
    top_k = params.get("top_k", 3)
    _must(type(top_k) is int and -(2**31) <= top_k < 2**31)
    for row in rows:
        _must(isinstance(row, dict) and set(row) == set(INPUTS))
        _must(
            isinstance(row["text"], str)
            and isinstance(row["yes"], bool)
            and _is_double(row["ratio"])
        )
        _must(type(row["count"]) is int and -(2**63) <= row["count"] < 2**63)
        _must(isinstance(row["marks"], list) and all(map(_is_double, row["marks"])))
    return [{**row, "length": len(row["text"].encode()), "top_k": top_k} for row in rows]


def _is_double(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def _cell(name: str, text: str) -> Any:
    if name in ("count", "ratio"):
        text = text.strip(" ")  # as pandas reads it
    if name == "count":
        _must(re.fullmatch(r"[+-]?[0-9]{1,4000}", text))
        return int(text)
    if name == "ratio":
        _must(re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text))
        return float(text)
    if name == "yes":
        _must(text.lower() in ("true", "false"))
        return text.lower() == "true"
    return parsed(text.encode()) if name == "marks" else text


def _flat(data: list[Any], shape: list[int]) -> list[Any]:
    if data and isinstance(data[0], list) and len(shape) > 1:
        _must(len(data) == shape[0])
        for size in shape[1:]:
            _must(all(isinstance(inner, list) and len(inner) == size for inner in data))
            data = [value for inner in data for value in inner]
    return data


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError


def _bounded(value: Any, depth: int) -> None:
    _must(not (isinstance(value, float) and math.isinf(value)))
    inner = (
        value if isinstance(value, list) else value.values() if isinstance(value, dict) else None
    )
    if inner is not None:
        _must(depth < MAX_DEPTH)
        for one in inner:
            _bounded(one, depth + 1)


def _must(held: Any) -> None:
    if not held:
        raise WrongError
