"""JSON as RFC 8259 has it and no more: no duplicate keys, no NaN, no number beyond a double, bounded depth."""

import json
import math
import re
from typing import Any

from plumbline.serving.refusals import bad

MAX_DEPTH = 32
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def loads(raw: bytes) -> Any:
    """The value in `raw` (UTF-8). Refusal (400) where it is not strict JSON."""
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:  # most requests have fewer brackets than that in all
        _refuse_depth(raw)
    try:
        return json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
        )
    except UnicodeDecodeError as error:
        raise bad(f"the body is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise bad(f"the body is not JSON ({error.msg.lower()}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError):
        raise bad("the body holds a number with too many digits") from None


def dumps(value: Any) -> bytes:
    """Strict JSON; ValueError for NaN and infinity."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _refuse_depth(raw: bytes) -> None:
    depth = 0
    for found in BRACKETS.finditer(raw):
        if found[0] in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise bad(f"the body is nested more than {MAX_DEPTH} deep")
        elif found[0] in b"]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise bad("an object in the body has the same key twice")
    return found


def _constant(_: str) -> float:
    raise bad("the body holds NaN or Infinity, which are not JSON")


def _float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise bad("the body holds a number beyond the range of a double")
    return value
