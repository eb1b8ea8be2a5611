"""Read JSON as RFC 8259 defines it and no more, from sources that are not trusted yet."""

import json
import math
from typing import Any

MAX_DIGITS = 310  # a double has 309 before its point


def parse_json(raw: bytes | str) -> Any:
    """Parse the value in `raw`, which is UTF-8 or text.

    ValueError, which repeats nothing of it, for invalid JSON, duplicate keys, NaN, numbers beyond
    a double and endless nesting.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        return json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"a byte that is not UTF-8, at {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"not valid JSON: {error.msg.lower()}, line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise ValueError("endless nesting") from None


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("the same key twice in an object")
    return values


def _refuse_constant(_: str) -> float:
    raise ValueError("NaN or Infinity, which are not JSON")


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond the range of a double")
    return value


def _parse_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("a number with too many digits")
    return int(text)
