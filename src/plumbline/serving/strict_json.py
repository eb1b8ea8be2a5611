"""JSON bodies, read and written strictly."""

import json
import re
from typing import Any

from plumbline.bundle import strict
from plumbline.serving.errors import BadRequestError

SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # one half of a character that needs two escapes


def parse_json(raw: bytes) -> Any:
    """Parse `raw` (UTF-8) as strict JSON; BadRequestError if it is not."""
    try:
        value = strict.parse_json(raw)
        if SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadRequestError(
            "the body contains an unpaired surrogate (a \\ud... escape without its other half)"
        ) from None
    except RecursionError:
        raise BadRequestError("invalid body: endless nesting") from None
    except ValueError as error:
        raise BadRequestError(f"invalid body: {error}") from None
    return value


def encode_json(value: Any) -> bytes:
    """Encode `value` as strict JSON; ValueError for NaN and infinity."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
