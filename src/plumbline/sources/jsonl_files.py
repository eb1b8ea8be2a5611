"""JSON objects, one on each line."""

import io
import json
from collections.abc import Iterator
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.sources.columns import find_columns
from plumbline.sources.records import ReadRequest, SourceRow, as_text
from plumbline.sources.text_lines import DecodedLines


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
        values = [as_text(record.get(column), place) for column in request.names]
        if "\\ud" in line or "\\uD" in line:
            complete = [_replace_surrogates(value) for value in values]
            repaired = repaired or complete != values
            values = complete
        yield SourceRow(lines.number, values, repaired)
    notice = lines.describe_repairs()
    if notice:
        request.notices.append(notice)


def _parse_object(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not a JSON object on one line ({error})") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {type(record).__name__}")
    return record


def _replace_surrogates(value: str | None) -> str | None:
    r"""Replace unpaired surrogates by `?`: an escape such as \ud83d alone is not a character."""
    if not value:
        return value
    return value.encode("utf-8", "replace").decode()
