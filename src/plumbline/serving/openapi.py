"""The description of the routes at /openapi.json, with the model's own columns in it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from plumbline.contract.task import Field, Signature
from plumbline.contract.value_types import get_value_type
from plumbline.serving import open_inference
from plumbline.serving.router import TrafficRouter

Schema = dict[str, Any]
ERROR: Schema = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("error_code", "message", "error")},
    "required": ["error_code", "message", "error"],
    "additionalProperties": False,
}
ERROR_STATUSES = (400, 401, 403, 404, 405, 408, 413, 415, 421, 429, 500, 503, 504)


def describe_api(app: FastAPI, router: TrafficRouter) -> Schema:
    """Build OpenAPI 3.1 for the server as it is now, with the champion's signature."""
    description = get_openapi(title="plumbline", version="1", routes=app.routes)
    description["components"] = {"schemas": {"Error": ERROR}}
    signature = router.champion.signature
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            operation["responses"] = {"200": {"description": "The answer"}}
            for status in ERROR_STATUSES:
                operation["responses"][str(status)] = _describe_error()
            if method == "post":
                body = {"application/json": {"schema": _describe_body(path, signature)}}
                operation.setdefault("requestBody", {"required": True, "content": body})
    return description


def _describe_error() -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": "Refused", "content": {"application/json": {"schema": schema}}}


def _describe_body(path: str, signature: Signature) -> Schema:
    if path.startswith("/v2"):
        return _describe_infer(signature)
    return _describe_invocations(signature)


def _describe_invocations(signature: Signature) -> Schema:
    required = {field.name: field.type for field in signature.inputs if field.required}
    optional = {field.name: field.type for field in signature.inputs if not field.required}
    record = _describe_object(_describe_values(required), _describe_values(optional))
    records = {"type": "array", "minItems": 1, "items": record}
    columns = _describe_object(_describe_columns(required), _describe_columns(optional))
    params = {
        "type": "object",
        "additionalProperties": False,
        "properties": {param.name: _describe_type(param.type) for param in signature.params},
    }
    layouts = {"dataframe_records": records, "instances": records, "inputs": columns}
    return {
        "oneOf": [
            _describe_object({name: layout}, {"params": params}) for name, layout in layouts.items()
        ]
    }


def _describe_values(types: Mapping[str, Any]) -> Schema:
    return {name: _describe_type(kind) for name, kind in types.items()}


def _describe_columns(types: Mapping[str, Any]) -> Schema:
    return {name: {"type": "array", "items": _describe_type(kind)} for name, kind in types.items()}


def _describe_infer(signature: Signature) -> Schema:
    required = [field for field in signature.inputs if field.required]
    optional = [field for field in signature.inputs if not field.required]
    inputs = {
        "type": "array",
        "prefixItems": [_describe_tensor(field) for field in (*required, *optional)],
        "minItems": len(required),
        "maxItems": len(signature.inputs),
    }
    request_id = {"type": "string", "maxLength": open_inference.MAX_ID}
    return _describe_object({"inputs": inputs}, {"id": request_id})


def _describe_tensor(field: Field) -> Schema:
    return _describe_object(
        {
            "name": {"const": field.name},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "datatype": {"const": open_inference.get_datatype(field.type)},
            "data": {"type": "array", "items": _describe_type(field.type)},
        }
    )


def _describe_object(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _describe_type(kind: Any) -> Schema:
    """Return the JSON schema of an MLflow type."""
    if not isinstance(kind, Mapping):
        return {"type": get_value_type(kind).json}
    if kind.get("type") == "array":
        return {"type": "array", "items": _describe_type(kind["items"]["type"])}
    return {}
