"""Encode values as text: cells of CSV, objects of JSON."""

import base64
import datetime
import json
import math
from typing import Any


def encode_cell(value: Any) -> str:
    """Return a cell of CSV: nested values as JSON, nothing for None."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return encode_json(value)
    return repr(value) if isinstance(value, float) else _convert_other(value)


def encode_json(value: Any) -> str:
    """Return a value as JSON; what JSON does not have is null or text."""
    try:
        return ENCODER.encode(value)
    except ValueError:
        return ENCODER.encode(_replace_not_finite(value))


def _replace_not_finite(value: Any) -> Any:
    """Return the value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _replace_not_finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_not_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _convert_other(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


# json.dumps with these options would create an encoder for each row.
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_convert_other)
