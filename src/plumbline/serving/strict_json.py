"""JSON bodies: strict, with a limit on nesting, and parsed in linear time."""

import json
import re
from typing import Any

from plumbline.bundle import strict
from plumbline.serving.errors import BadRequestError

MAX_DEPTH = 32
MAX_NESTED = 100_000  # lists and objects in one body: each costs far more than its two characters
# A JSON string, also without its closing quote. Possessive quantifiers: no byte is read twice.
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # one half of a character that needs two escapes


def parse_json(raw: bytes) -> Any:
    """Parse `raw` (UTF-8) as strict JSON; BadRequestError if it is not."""
    # Most requests have fewer brackets than MAX_DEPTH in total, and need no closer look.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _check_nesting(raw)
    try:
        value = strict.parse_json(raw)
        if SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadRequestError(
            "the body contains an unpaired surrogate (a \\ud... escape without its other half)"
        ) from None
    except ValueError as error:
        raise BadRequestError(f"invalid body: {error}") from None
    return value


def encode_json(value: Any) -> bytes:
    """Encode `value` as strict JSON; ValueError for NaN and infinity."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _check_nesting(raw: bytes) -> None:
    brackets = STRING.sub(b"", raw).translate(None, NOT_BRACKETS)
    if brackets.count(b"[") + brackets.count(b"{") > MAX_NESTED:
        raise BadRequestError(f"the body contains more than {MAX_NESTED} lists and objects")
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise BadRequestError(f"the body is nested more than {MAX_DEPTH} levels deep")
