"""JSON as RFC 8259 has it and no more, from files that are not trusted yet."""

import json
import math
from typing import Any


def loads(raw: bytes) -> Any:
    """The value in `raw` (UTF-8). ValueError for a key that stands twice, NaN, deep nesting, huge numbers."""
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is beyond the range of a double")
    return value


def _int(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"{text[:20]}... has too many digits")
    return int(text)
