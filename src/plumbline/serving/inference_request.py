"""What a request asks of the model: columns and parameters that match the model's signature."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plumbline.contract.task import Field, Signature
from plumbline.contract.value_types import get_type_check, get_value_type, name_type
from plumbline.serving.errors import BadRequestError, RequestError

Columns = dict[str, list[Any]]
KIND_NAMES = {
    str: "text",
    bool: "a boolean",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class InferenceRequest:
    """Columns of equal length, and a value for every inference parameter."""

    columns: Columns
    params: dict[str, Any]

    @property
    def num_rows(self) -> int:
        """The number of answers that are asked for."""
        column, *_ = self.columns.values()
        return len(column)


def build_request(
    columns: Mapping[str, Any], params: Mapping[str, Any], signature: Signature, max_rows: int
) -> InferenceRequest:
    """Check columns and parameters against the signature and fill in what is optional.

    Raises RequestError (400 or 413) that names the row and column.
    """
    _check_names(columns, signature)
    num_rows = _count_rows(columns, max_rows)
    # Optional columns are present in every request, so that requests can share a batch.
    absent = [None] * num_rows
    complete = {
        field.name: _check_column(field, columns.get(field.name, absent))
        for field in signature.inputs
    }
    return InferenceRequest(complete, _complete_params(params, signature))


def check_num_rows(num_rows: int, max_rows: int) -> None:
    """Raise RequestError (400 or 413) if a request has no rows, or more than `max_rows`."""
    if num_rows == 0:
        raise BadRequestError("no rows in the request")
    if num_rows > max_rows:
        raise RequestError(
            413, "TOO_MANY_ROWS", f"too many rows; at most {max_rows} in one request"
        )


def _check_names(columns: Mapping[str, Any], signature: Signature) -> None:
    names = [field.name for field in signature.inputs]
    for field in signature.inputs:
        if field.required and field.name not in columns:
            raise BadRequestError(
                f"missing column {field.name!r}; the model takes {', '.join(names)}"
            )
    for number, name in enumerate(columns, start=1):
        if name not in names:
            raise BadRequestError(f"column {number} is unknown; the model takes {', '.join(names)}")


def _count_rows(columns: Mapping[str, Any], max_rows: int) -> int:
    lengths = set(map(len, columns.values()))
    if len(lengths) != 1:
        raise BadRequestError("the columns differ in length")
    num_rows = lengths.pop()
    check_num_rows(num_rows, max_rows)
    return num_rows


def _check_column(field: Field, values: Any) -> list[Any]:
    matches = get_type_check(field.type)
    for row, value in enumerate(values):
        if value is None and not field.required:
            continue
        if not matches(value):
            raise BadRequestError(
                f"row {row}: {field.name}: expected {name_type(field.type)}, "
                f"found {_describe_value(value, field.type)}"
            )
    return list(values)


def _complete_params(params: Mapping[str, Any], signature: Signature) -> dict[str, Any]:
    known = {param.name: param for param in signature.params}
    if set(params) - set(known):
        raise BadRequestError(f"params: unknown name; the model takes {', '.join(known) or 'none'}")
    for name, value in params.items():
        kind = known[name].type
        if not get_type_check(kind)(value):
            raise BadRequestError(
                f"params.{name}: expected {kind}, found {_describe_value(value, kind)}"
            )
    return {name: params.get(name, param.default) for name, param in known.items()}


def _describe_value(value: Any, expected: Any) -> str:
    """Describe a value that is not of the MLflow type `expected`; a number may be out of range."""
    if value is None:
        return "null"
    name = KIND_NAMES[type(value)]
    wanted = get_value_type(expected).json
    is_integer = type(value) is int and wanted in ("integer", "number")
    is_other = type(value) is float and wanted == "number"
    return f"{name} out of range" if is_integer or is_other else name
