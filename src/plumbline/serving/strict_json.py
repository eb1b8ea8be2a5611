"""The bodies of requests: strict JSON, nested no deeper than anyone needs, and read in linear time."""

import json
import re
from typing import Any

from plumbline.bundle import strict
from plumbline.serving.refusals import bad

MAX_DEPTH = 32
MAX_NESTED = 100_000  # lists and objects in one body: each costs far more time and memory than its two characters
# Possessive, and whole without its closing quote: no text in a body is read twice, whatever stands in it.
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # of a character that needs two escapes


def loads(raw: bytes) -> Any:
    """The value in `raw` (UTF-8). Refusal (400) where it is not strict JSON."""
    if (
        raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
    ):  # most requests have fewer brackets than that in all
        _refuse_nesting(raw)
    try:
        value = strict.loads(raw)
        if HALF.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise bad(
            "the body holds half a character (a \\ud... escape without its other half)"
        ) from None
    except ValueError as error:
        raise bad(f"the body holds {error}") from None
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
