"""JSON as RFC 8259 has it and no more: no duplicate keys, no NaN, no number beyond a double, bounded nesting."""

import json
import math
import re
from typing import Any

from plumbline.serving.refusals import bad

MAX_DEPTH = 32
MAX_NESTED = 100_000  # lists and objects in one body: each costs far more time and memory than its two characters
# Possessive, and whole without its closing quote: no text in a body is read twice, whatever stands in it.
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # of a character that needs two escapes


def loads(raw: bytes) -> Any:
    """The value in `raw` (UTF-8). Refusal (400) where it is not strict JSON."""
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:  # most requests have fewer brackets than that in all
        _refuse_nesting(raw)
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
        )
        if HALF.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise bad(f"the body is not UTF-8 (byte {error.start})") from None
    except UnicodeEncodeError:
        raise bad("the body holds half a character (a \\ud... escape without its other half)") from None
    except json.JSONDecodeError as error:
        raise bad(f"the body is not JSON ({error.msg.lower()}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError):
        raise bad("the body holds a number with too many digits") from None
    return value


def dumps(value: Any) -> bytes:
    """Strict JSON; ValueError for NaN and infinity."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _refuse_nesting(raw: bytes) -> None:
    brackets = TEXT.sub(b"", raw).translate(None, NO_BRACKETS)
    if brackets.count(b"[") + brackets.count(b"{") > MAX_NESTED:
        raise bad(f"the body holds more than {MAX_NESTED} lists and objects")
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise bad(f"the body is nested more than {MAX_DEPTH} deep")


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
