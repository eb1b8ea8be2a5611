"""Nested values as one level: `{"data": {"seed": 1}}` is `data.seed: 1`."""

from collections.abc import Iterator, Mapping
from typing import Any


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values; an empty mapping is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
