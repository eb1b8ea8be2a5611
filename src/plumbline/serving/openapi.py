"""The description of the routes that /openapi.json gives, with the model's own columns in it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from plumbline.contract.task import Field, Signature
from plumbline.serving import tensors
from plumbline.serving.fleet import Fleet

ERROR = {
    "type": "object",
    "properties": {"error_code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["error_code", "message"],
    "additionalProperties": False,
}
REFUSALS = (
    "400",
    "401",
    "403",
    "404",
    "405",
    "408",
    "413",
    "415",
    "421",
    "429",
    "500",
    "503",
    "504",
)
NUMBERS = {"integer": "integer", "long": "integer", "float": "number", "double": "number"}


def describe(app: FastAPI, fleet: Fleet) -> dict[str, Any]:
    """OpenAPI 3.1 of the server as it is now: bodies and answers follow the champion's signature."""
    found = get_openapi(title="plumbline", version="1", routes=app.routes)
    found["components"] = {"schemas": {"Error": ERROR}}
    signature = fleet.champion.signature if fleet.champion else Signature((), ())
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            operation["responses"] = {"200": {"description": "The answer"}} | {
                code: _refusal() for code in REFUSALS
            }
            if method == "post":
                body = _infer(signature) if path.startswith("/v2") else _invocations(signature)
                operation["requestBody"] = {
                    "required": True,
                    "content": {"application/json": {"schema": body}},
                }
    return found


def _refusal() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": "Refused", "content": {"application/json": {"schema": schema}}}


def _invocations(signature: Signature) -> dict[str, Any]:
    values = [
        {f.name: _schema(f.type) for f in signature.inputs if f.required is needed}
        for needed in (True, False)
    ]
    records = {"type": "array", "minItems": 1, "items": _object(*values)}
    columns = _object(
        *(
            {name: {"type": "array", "items": form} for name, form in part.items()}
            for part in values
        )
    )
    params = {"type": "object", "additionalProperties": False}
    params["properties"] = {p.name: _schema(p.type) for p in signature.params}
    forms = {"dataframe_records": records, "instances": records, "inputs": columns}
    return {"oneOf": [_object({name: form}, {"params": params}) for name, form in forms.items()]}


def _infer(signature: Signature) -> dict[str, Any]:
    tensor = [
        _tensor(field) for field in sorted(signature.inputs, key=lambda field: not field.required)
    ]
    needed = sum(field.required for field in signature.inputs)
    inputs = {"type": "array", "prefixItems": tensor, "minItems": needed, "maxItems": len(tensor)}
    return _object({"inputs": inputs}, {"id": {"type": "string", "maxLength": tensors.MAX_ID}})


def _tensor(field: Field) -> dict[str, Any]:
    datatype = tensors.datatype(field.type)
    one = {
        "name": {"const": field.name},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "datatype": {"const": datatype},
        "data": {"type": "array", "items": _schema(field.type)},
    }
    return _object(one)


def _object(
    properties: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, Mapping):
        return (
            {"type": "array", "items": _schema(kind["items"]["type"])}
            if kind.get("type") == "array"
            else {}
        )
    return {"type": NUMBERS.get(kind, kind if kind in ("string", "boolean") else "string")}
