"""Open Inference Protocol v2: requests and answers as named tensors.

https://github.com/open-inference/open-inference-protocol
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from plumbline.contract.task import Field, Signature
from plumbline.registry.reader.mirror import Copy
from plumbline.serving import strict_json
from plumbline.serving.inputs import Asked, Columns, checked
from plumbline.serving.refusals import Refusal, bad

DATATYPES = {
    "string": "BYTES", "boolean": "BOOL", "integer": "INT32", "long": "INT64", "float": "FP32", "double": "FP64",
}  # fmt: skip
ACCEPTED = {
    "BYTES": {"BYTES"},
    "BOOL": {"BOOL"},
    "FP64": {"FP64", "FP32", "FP16"},
    "FP32": {"FP64", "FP32", "FP16"},
    "INT64": {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "INT32": {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32)},
}
MAX_ID = 200
MAX_RANK = 8  # dimensions of a shape


def read(
    raw: bytes, content_type: str, signature: Signature, max_rows: int
) -> tuple[Asked, str | None]:
    """What is asked, and the request's id. Refusal where the body is not an inference request."""
    if content_type.partition(";")[0].strip().lower() not in ("application/json", ""):
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "send application/json")
    body = strict_json.loads(raw)
    if not isinstance(body, dict) or set(body) - {"id", "inputs", "parameters", "outputs"}:
        raise bad("expected an object with inputs, and id, parameters or outputs if there are any")
    identity, params, tensors = body.get("id"), body.get("parameters", {}), body.get("inputs")
    if not (identity is None or (isinstance(identity, str) and len(identity) <= MAX_ID)):
        raise bad(f"id: expected text of at most {MAX_ID} characters")
    if not isinstance(params, dict):
        raise bad("parameters: expected an object")
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        raise bad("inputs: expected a list of tensors")
    types = {field.name: field.type for field in signature.inputs}
    columns: Columns = {}
    for place, tensor in enumerate(tensors):
        name = tensor.get("name")
        if not isinstance(name, str) or name not in types or name in columns:
            raise bad(f"inputs.{place}.name: expected each of {', '.join(types)}, once")
        columns[name] = _values(tensor, types[name], place)
    return checked(columns, params, signature, max_rows), identity


def answer(
    columns: Columns, copy: Copy, signature: Signature, identity: str | None
) -> dict[str, Any]:
    """The inference response: each column a tensor; nested values as JSON text."""
    types = {field.name: field.type for field in signature.outputs}
    found = {
        "model_name": copy.name,
        "model_version": copy.version,
        "outputs": [_tensor(name, types.get(name), values) for name, values in columns.items()],
    }
    return found if identity is None else found | {"id": identity}


def metadata(copy: Copy, signature: Signature) -> dict[str, Any]:
    """What the model takes and gives."""
    return {
        "name": copy.name,
        "versions": [copy.version],
        "platform": "onnxruntime_onnx",
        "inputs": [_described(field) for field in signature.inputs],
        "outputs": [_described(field) for field in signature.outputs],
    }


def _values(tensor: Mapping[str, Any], kind: Any, place: int) -> list[Any]:
    """The rows of one tensor; data may be flat or nested."""
    shape, data = tensor.get("shape"), tensor.get("data")
    if set(tensor) - {"name", "shape", "datatype", "data", "parameters"}:
        raise bad(f"inputs.{place}: expected name, shape, datatype and data")
    wanted = ACCEPTED[datatype(kind)]
    if not isinstance(tensor.get("datatype"), str) or tensor["datatype"] not in wanted:
        raise bad(f"inputs.{place}.datatype: expected {' or '.join(sorted(wanted))}")
    if not isinstance(shape, list) or not 1 <= len(shape) <= MAX_RANK:
        raise bad(f"inputs.{place}.shape: expected a list of 1 to {MAX_RANK} sizes")
    if not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise bad(f"inputs.{place}.shape: expected sizes")
    if not isinstance(data, list):
        raise bad(f"inputs.{place}.data: expected a list")
    while data and isinstance(data[0], list):
        if not all(isinstance(row, list) for row in data):
            raise bad(f"inputs.{place}.data: nested unevenly")
        data = [value for row in data for value in row]
    if len(data) != math.prod(shape):
        raise bad(f"inputs.{place}: {len(data)} values do not fill its shape")
    if not isinstance(kind, Mapping):
        if any(size != 1 for size in shape[1:]):
            raise bad(f"inputs.{place}.shape: expected one value for each row")
        return data
    width = math.prod(shape[1:])
    return [data[row * width : (row + 1) * width] for row in range(shape[0])]


def _tensor(name: str, kind: Any, values: list[Any]) -> dict[str, Any]:
    found = {"name": name, "datatype": datatype(kind), "shape": [len(values)], "data": values}
    if not isinstance(kind, Mapping):
        return found
    widths = {len(value) for value in values if isinstance(value, list)}
    if found["datatype"] == "BYTES" or len(widths) != 1:
        return found | {
            "datatype": "BYTES",
            "data": [json.dumps(value, allow_nan=False) for value in values],
        }
    return found | {
        "shape": [len(values), widths.pop()],
        "data": [item for value in values for item in value],
    }


def _described(field: Field) -> dict[str, Any]:
    found = datatype(field.type)
    nested = isinstance(field.type, Mapping) and found != "BYTES"
    return {"name": field.name, "datatype": found, "shape": [-1, -1] if nested else [-1]}


def datatype(kind: Any) -> str:
    """The tensor type of an MLflow type; arrays of numbers keep theirs, other nested forms travel as text."""
    if isinstance(kind, Mapping):
        inner = kind.get("items", {}).get("type") if kind.get("type") == "array" else None
        return DATATYPES.get(inner, "BYTES") if isinstance(inner, str) else "BYTES"
    return DATATYPES.get(kind, "BYTES")
