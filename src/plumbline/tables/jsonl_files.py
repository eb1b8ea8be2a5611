"""JSON objects, one on each line."""

import io
import json
import math
from collections.abc import Iterator
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.tables.columns import find_columns
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from plumbline.tables.text_lines import DecodedLines

ARRAY_REMEDY = "an array has to become one object on each line: jq -c '.[]' data.json > data.jsonl"


def read_jsonl(stream: io.BufferedReader, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield one row for each line that is not empty, numbered by its line."""
    lines = DecodedLines(stream, name, request.refuse_encoding)
    is_first = True
    for line in lines:
        repaired = lines.take_repaired()
        if not line.strip():
            continue
        place = f"{name}:{lines.number}"
        record = _parse_object(line, place)
        if is_first:
            find_columns(name, list(record), request)
            is_first = False
        values = [_convert_value(column, record, place) for column in request.columns]
        if "\\ud" in line or "\\uD" in line:
            complete = [value and replace_surrogates(value) for value in values]
            repaired = repaired or complete != values
            values = complete
        yield SourceRow(lines.number, values, repaired)
    request.notices.extend(lines.describe())


def replace_surrogates(value: str) -> str:
    r"""Replace unpaired surrogates by `?`: an escape such as \ud83d alone is not a character."""
    return value.encode("utf-8", "replace").decode()


def read_first_object(stream: io.BufferedReader, name: str) -> dict[str, Any]:
    """Return the first object of a file; an empty one if there is none."""
    lines = DecodedLines(stream, name, refuse_encoding=False)
    for line in lines:
        if line.strip():
            return _parse_object(line, f"{name}:{lines.number}")
    return {}


def refuse_json(line: str, name: str) -> None:
    """Raise DataError if the first line of a file that is named as CSV is JSON."""
    start = line.lstrip()[:1]
    if start == "[":
        raise DataError(f"{name}: a JSON array, not CSV; {ARRAY_REMEDY}")
    if start == "{" and _is_object(line):
        raise DataError(f"{name}: JSON objects, one on each line, not CSV; name it .jsonl")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _convert_value(column: WantedColumn, record: dict[str, Any], place: str) -> str | None:
    value = record.get(column.name)
    if isinstance(value, float) and math.isinf(value):  # such as 1e400
        raise DataError(
            f"{place}: column {column.name!r}: a number beyond the range of a double; correct it"
        )
    return column.convert(value, place)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the same key twice: {twice!r}")
    return record


def _parse_object(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_build_object)
    except (ValueError, RecursionError) as error:
        if line.lstrip().startswith("["):
            raise DataError(f"{place}: not a JSON object on one line: {ARRAY_REMEDY}") from None
        raise DataError(f"{place}: not a JSON object on one line ({error})") from None
    if isinstance(record, list) and place.endswith(":1"):
        raise DataError(f"{place}: expected a JSON object, found list: {ARRAY_REMEDY}")
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {type(record).__name__}")
    return record
