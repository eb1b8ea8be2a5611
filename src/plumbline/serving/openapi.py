"""The description of the routes at /openapi.json, with the model's own example in it."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from plumbline.serving.loaded_model import LoadedModel
from plumbline.serving.open_inference import encode_tensor
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
    """Build OpenAPI 3.1 for the server as it is now, with the champion's example."""
    description = get_openapi(title="plumbline", version="1", routes=app.routes)
    description["components"] = {"schemas": {"Error": ERROR}}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            operation["responses"] = {"200": {"description": "The answer"}}
            for status in ERROR_STATUSES:
                operation["responses"][str(status)] = _describe_error()
            if method == "post":
                example = _make_example(path, router.champion)
                body = {"schema": {"type": "object"}, "example": example}
                content = {"application/json": body}
                operation.setdefault("requestBody", {"required": True, "content": content})
    return description


def _describe_error() -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": "Refused", "content": {"application/json": {"schema": schema}}}


def _make_example(path: str, model: LoadedModel) -> dict[str, Any]:
    """Return a body that the route answers."""
    if not path.startswith("/v2"):
        return {"inputs": model.example}
    types = {field.name: field.type for field in model.signature.inputs}
    tensors = [encode_tensor(name, types[name], column) for name, column in model.example.items()]
    return {"inputs": tensors}
