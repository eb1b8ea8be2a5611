"""Parse the bodies that MLflow's scoring server takes: JSON in four layouts, and CSV."""

import io
import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import Field, Signature
from plumbline.contract.value_types import build_cell_parser
from plumbline.serving.errors import BadRequestError, UnsupportedMediaTypeError
from plumbline.serving.inference_request import Columns, InferenceRequest, build_request
from plumbline.serving.strict_json import parse_json
from plumbline.tables.csv_files import CsvTable
from plumbline.tables.text_lines import BYTE_ORDER_MARKS

LAYOUTS = ("inputs", "instances", "dataframe_split", "dataframe_records")
UTF8 = ("", "charset=utf-8", 'charset="utf-8"')


def parse_body(
    raw: bytes,
    content_type: str,
    signature: Signature,
    max_rows: int,
    own: Mapping[str, str] = MappingProxyType({}),
) -> InferenceRequest:
    """Parse a request body and check it against the signature; RequestError if it is not valid.

    It may call inputs as `own` says, which maps inputs to columns.
    """
    match read_media_type(content_type):
        case "application/json":
            columns, params = _read_json(parse_json(raw), signature)
            names = {column: name for name, column in own.items() if name not in columns}
            columns = {names.get(column, column): values for column, values in columns.items()}
            return build_request(columns, params, signature, max_rows)
        case "text/csv":
            columns = _read_csv(raw, signature, max_rows, own)
            return build_request(columns, {}, signature, max_rows)
    raise UnsupportedMediaTypeError("unsupported content type; send application/json or text/csv")


def read_media_type(content_type: str) -> str:
    """Return the media type that a Content-Type header names, in lower case.

    UnsupportedMediaTypeError if the header names another charset than UTF-8.
    """
    kind, _, charset = content_type.partition(";")
    if charset.replace(" ", "").lower() not in UTF8:
        raise UnsupportedMediaTypeError("unsupported charset; send UTF-8")
    return kind.strip().lower()


def _read_json(body: Any, signature: Signature) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return columns and parameters."""
    if not isinstance(body, dict):
        raise BadRequestError(f"expected a JSON object with one of {', '.join(LAYOUTS)}")
    layouts = [name for name in LAYOUTS if name in body]
    if len(layouts) != 1 or set(body) - {*layouts, "params"}:
        raise BadRequestError(f"expected exactly one of {', '.join(LAYOUTS)}, and optional params")
    (layout,) = layouts
    params = body.get("params", {})
    if not isinstance(params, dict):
        raise BadRequestError("params: expected an object")
    if layout == "dataframe_split":
        return _read_split(body[layout]), params
    if layout == "dataframe_records":
        return _read_records(body[layout]), params
    return _read_inputs(body[layout], signature), params


def _read_split(value: Any) -> Columns:
    known = {"columns", "data", "index"}
    if not isinstance(value, dict) or not {"columns", "data"} <= set(value) <= known:
        raise BadRequestError("dataframe_split: expected columns and data")
    names = value["columns"]
    rows = value["data"]
    if not _is_list_of_unique_names(names):
        raise BadRequestError("dataframe_split.columns: expected a list of unique names")
    if not isinstance(rows, list):
        raise BadRequestError("dataframe_split.data: expected a list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise BadRequestError(f"row {number}: expected a list of {len(names)} values")
    return {name: [row[position] for row in rows] for position, name in enumerate(names)}


def _is_list_of_unique_names(names: Any) -> bool:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return False
    return len(set(names)) == len(names)


def _read_records(value: Any) -> Columns:
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise BadRequestError("expected a list of objects, one for each row")
    if not value:
        return {}
    names = value[0].keys()
    for number, record in enumerate(value):
        if record.keys() != names:
            raise BadRequestError(f"row {number}: its columns differ from those of row 0")
    return {name: [record[name] for record in value] for name in names}


def _read_inputs(value: Any, signature: Signature) -> Columns:
    """Read `inputs` or `instances`: columns by name, records, or the values of the only column."""
    if isinstance(value, dict):
        if not all(isinstance(values, list) for values in value.values()):
            raise BadRequestError("expected a list of values for each column")
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return _read_records(value)
    if isinstance(value, list) and len(signature.inputs) == 1:
        return {signature.inputs[0].name: value}
    raise BadRequestError("expected a list of rows or an object of columns")


def _read_csv(raw: bytes, signature: Signature, max_rows: int, own: Mapping[str, str]) -> Columns:
    """Read the inputs from CSV with a header line; its other columns are left out.

    `own` maps inputs to what the files call them that the model learned from.
    """
    _require_encoding(raw)
    names = {
        field.name: (own.get(field.name, field.name), field.name) for field in signature.inputs
    }
    wanted = list(itertools.chain(*names.values()))
    try:
        records = CsvTable(io.BufferedReader(io.BytesIO(raw)), "the body", wanted)
        # One row too many is enough to refuse.
        rows = [cells for _, cells, _ in itertools.islice(records, max_rows + 1)]
    except DataError as error:
        raise BadRequestError(str(error)) from None
    columns = {}
    for field in signature.inputs:
        present = [name for name in names[field.name] if records.header.count(name) == 1]
        if present:
            place = records.header.index(present[0])
            columns[field.name] = _parse_cells(field, [row[place] for row in rows])
    return columns


def _require_encoding(raw: bytes) -> None:
    """BadRequestError for bytes that are neither UTF-8 nor what a byte order mark proves."""
    if raw.startswith(tuple(BYTE_ORDER_MARKS)):
        return
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise BadRequestError(f"the body is not UTF-8 (byte {error.start}); send UTF-8") from None


def _parse_cells(field: Field, cells: list[str]) -> list[Any]:
    """Convert a column to the type of its field."""
    parse = build_cell_parser(field, _parse_nested)
    values = []
    for row, cell in enumerate(cells):
        try:
            values.append(parse(cell))
        except ValueError as error:
            raise BadRequestError(f"row {row}: {error}") from None
    return values


def _parse_nested(text: str) -> Any:
    try:
        return parse_json(text.encode())
    except BadRequestError as error:
        raise ValueError(error.message) from None
