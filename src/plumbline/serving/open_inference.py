"""Open Inference Protocol v2: requests and answers as named tensors.

https://github.com/open-inference/open-inference-protocol
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plumbline.contract.task import Field, Signature
from plumbline.contract.value_types import get_value_type
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import binary_tensors
from plumbline.serving.errors import BadRequestError, UnsupportedMediaTypeError
from plumbline.serving.inference_request import (
    Columns,
    InferenceRequest,
    build_request,
    check_num_rows,
)
from plumbline.serving.request_body import read_media_type
from plumbline.serving.strict_json import parse_json

ACCEPTED = {
    "BYTES": {"BYTES"},
    "BOOL": {"BOOL"},
    "FP64": {"FP64", "FP32", "FP16"},
    "FP32": {"FP64", "FP32", "FP16"},
    "INT64": {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "INT32": {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32)},
}
KEYS = {"id", "inputs", "parameters", "outputs", "model_name"}  # KServe's client sends the last
MEDIA_TYPES = ("application/json", "application/octet-stream", "")  # the standard client: none
# Parameters that the standard client sends, beside those of the model.
IGNORED = {
    "binary_data_output", "priority", "timeout", "sequence_id", "sequence_start", "sequence_end",
}  # fmt: skip
MAX_RANK = 8  # dimensions of a shape


@dataclass(frozen=True)
class InferBody:
    """What the body of a request asks for."""

    request: InferenceRequest
    request_id: str | None
    outputs: list[str]  # the names of those that are asked for


def parse_infer_body(
    raw: bytes, headers: Mapping[str, str], name: str, signature: Signature, max_rows: int
) -> InferBody:
    """Parse a request to the model `name`; RequestError if it is not a valid inference request."""
    if read_media_type(headers.get("content-type", "")) not in MEDIA_TYPES:
        raise UnsupportedMediaTypeError("unsupported content type; send application/json")
    head_length = headers.get(binary_tensors.HEADER)
    body = parse_json(raw) if head_length is None else binary_tensors.parse_body(raw, head_length)
    if not isinstance(body, dict) or set(body) - KEYS:
        raise BadRequestError(
            "expected an object with inputs, and optional id, parameters and outputs"
        )
    if body.get("model_name") not in (None, name):
        raise BadRequestError("model_name: expected that of the address, or none")
    request_id = body.get("id")
    if not isinstance(request_id, str | None):
        raise BadRequestError("id: expected text")
    columns = _read_tensors(body.get("inputs"), signature, max_rows)
    request = build_request(columns, _read_params(body, signature), signature, max_rows)
    return InferBody(request, request_id, _read_outputs(body, signature))


def encode_infer_response(
    columns: Columns, version: CachedVersion, signature: Signature, asked: InferBody
) -> dict[str, Any]:
    """Build the inference response: each column is a tensor; nested values are JSON text.

    It is JSON also where binary data were asked for, which clients read by the same call.
    """
    types = {field.name: field.type for field in signature.outputs}
    response: dict[str, Any] = {
        "model_name": version.name,
        "model_version": version.version,
        "outputs": [
            encode_tensor(name, types.get(name), columns[name]) for name in asked.outputs or columns
        ],
    }
    if asked.request_id is not None:
        response["id"] = asked.request_id
    return response


def describe_model(version: CachedVersion, signature: Signature) -> dict[str, Any]:
    """Describe the model's inputs and outputs, as the protocol's metadata route does."""
    return {
        "name": version.name,
        "versions": [version.version],
        "platform": "onnxruntime_onnx",
        "inputs": [_describe_field(field) for field in signature.inputs],
        "outputs": [_describe_field(field) for field in signature.outputs],
    }


def get_datatype(kind: Any) -> str:
    """Return the tensor datatype of an MLflow type.

    An array of numbers has the datatype of its numbers; other nested types are sent as text.
    """
    if isinstance(kind, Mapping) and kind.get("type") == "array":
        kind = kind.get("items", {}).get("type")
    return get_value_type(kind).tensor


def _read_params(body: Mapping[str, Any], signature: Signature) -> dict[str, Any]:
    """Return the model's parameters, without those by which clients steer other servers."""
    params = body.get("parameters", {})
    if not isinstance(params, dict):
        raise BadRequestError("parameters: expected an object")
    known = {param.name for param in signature.params}
    return {name: value for name, value in params.items() if name in known or name not in IGNORED}


def _read_outputs(body: Mapping[str, Any], signature: Signature) -> list[str]:
    """Return the names of the outputs that are asked for; none: all."""
    outputs = body.get("outputs", [])
    if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
        raise BadRequestError("outputs: expected a list of objects with name")
    known = [field.name for field in signature.outputs]
    names = [output.get("name") for output in outputs]
    if len(set(map(str, names))) != len(names) or not all(name in known for name in names):
        raise BadRequestError(f"outputs: expected names of {', '.join(known)}, each at most once")
    return names


def _read_tensors(tensors: Any, signature: Signature, max_rows: int) -> Columns:
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        raise BadRequestError("inputs: expected a list of tensors")
    types = {field.name: field.type for field in signature.inputs}
    columns: Columns = {}
    for position, tensor in enumerate(tensors):
        name = tensor.get("name")
        if not isinstance(name, str) or name not in types or name in columns:
            raise BadRequestError(
                f"inputs.{position}.name: expected one of {', '.join(types)}, each at most once"
            )
        columns[name] = _read_tensor(tensor, types[name], f"inputs.{position}", max_rows)
    return columns


def _read_tensor(tensor: Mapping[str, Any], kind: Any, where: str, max_rows: int) -> list[Any]:
    """Return the rows of one tensor."""
    if set(tensor) - {"name", "shape", "datatype", "data", "parameters"}:
        raise BadRequestError(f"{where}: expected name, shape, datatype and data")
    accepted = ACCEPTED[get_datatype(kind)]
    datatype = tensor.get("datatype")
    if not isinstance(datatype, str) or datatype not in accepted:
        raise BadRequestError(f"{where}.datatype: expected {' or '.join(sorted(accepted))}")
    shape = _read_shape(tensor.get("shape"), where)
    # A shape of few bytes may have rows of no values without end.
    check_num_rows(shape[0], max_rows)
    data = _flatten_data(tensor.get("data"), shape, where)
    if len(data) != math.prod(shape):
        raise BadRequestError(f"{where}.data: {len(data)} values do not match the shape")
    if not isinstance(kind, Mapping):
        if any(size != 1 for size in shape[1:]):
            raise BadRequestError(f"{where}.shape: expected one value for each row")
        return data
    width = math.prod(shape[1:])
    return [data[row * width : (row + 1) * width] for row in range(shape[0])]


def _read_shape(shape: Any, where: str) -> list[int]:
    if not isinstance(shape, list) or not 1 <= len(shape) <= MAX_RANK:
        raise BadRequestError(f"{where}.shape: expected a list of 1 to {MAX_RANK} sizes")
    if not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise BadRequestError(f"{where}.shape: expected whole numbers from 0 to 2147483647")
    return shape


def _flatten_data(data: Any, shape: list[int], where: str) -> list[Any]:
    """Return the values in row-major order; `data` are flat, or nested as the shape says."""
    if not isinstance(data, list):
        raise BadRequestError(f"{where}.data: expected a list")
    if len(shape) == 1 or not (data and isinstance(data[0], list)):
        return data
    flat = [data]
    for size in shape:
        if not all(isinstance(row, list) and len(row) == size for row in flat):
            raise BadRequestError(f"{where}.data: expected flat values, or lists as long as shape")
        flat = [value for row in flat for value in row]
    return flat


def encode_tensor(name: str, kind: Any, values: list[Any]) -> dict[str, Any]:
    """Build the tensor of a column; nested values that make no matrix are JSON text."""
    datatype = get_datatype(kind)
    tensor = {"name": name, "datatype": datatype, "shape": [len(values)], "data": values}
    if not isinstance(kind, Mapping):
        return tensor
    widths = {len(value) if isinstance(value, list) else None for value in values}
    if datatype == "BYTES" or len(widths) != 1 or None in widths:
        texts = [json.dumps(value, allow_nan=False) for value in values]
        return tensor | {"datatype": "BYTES", "data": texts}
    flat = [item for value in values for item in value]
    return tensor | {"shape": [len(values), *widths], "data": flat}


def _describe_field(field: Field) -> dict[str, Any]:
    datatype = get_datatype(field.type)
    is_matrix = isinstance(field.type, Mapping) and datatype != "BYTES"
    return {"name": field.name, "datatype": datatype, "shape": [-1, -1] if is_matrix else [-1]}
