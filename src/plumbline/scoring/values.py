"""Values as text: a cell of CSV, an object of JSON."""

import base64
import datetime
import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plumbline.scoring.chunks import Form

PACKED_LEVEL = 6


def cell(value: Any) -> str:
    """A cell of CSV; what is nested as JSON, nothing for None."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return _encoded(value)
    return repr(value) if isinstance(value, float) else _plain(value)


def objects(columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Rows as objects of JSON."""
    names = list(columns)
    return (
        _encoded(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)
    )


def packed(text: str, form: Form) -> bytes:
    """UTF-8, in a gzip member of its own where the form asks for it; members in a row are one file."""
    raw = text.encode()
    return gzip.compress(raw, PACKED_LEVEL, mtime=0) if form.packed and raw else raw


def _encoded(value: Any) -> str:
    try:
        return JSON.encode(value)
    except ValueError:
        return JSON.encode(_finite(value))


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON has no words for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


JSON = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, default=_plain
)  # json.dumps makes one anew for each row
