"""JSON as RFC 8259 has it and no more, from whoever is not trusted yet."""

import json
import math
from typing import Any

MAX_DIGITS = 310  # a double has 309 before its point


def loads(raw: bytes | str) -> Any:
    """The value in `raw`, which is UTF-8 or text.

    ValueError, which repeats nothing of it, for what is no JSON, keys that stand twice, NaN, numbers beyond a double
    and endless nesting.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"a byte that is not UTF-8, at {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"no JSON: {error.msg.lower()}, line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise ValueError("endless nesting") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the same key twice in an object")
    return found


def _constant(_: str) -> float:
    raise ValueError("NaN or Infinity, which are not JSON")


def _float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("a number beyond the range of a double")
    return value


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("a number with too many digits")
    return int(text)
