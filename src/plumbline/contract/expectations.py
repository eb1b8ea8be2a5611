"""An expectation of Great Expectations, by its name: the library itself takes seconds to load."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expectation:
    """What a table must be: `kind` as in the gallery of Great Expectations, and its options."""

    kind: str  # expect_column_values_to_be_null
    options: Mapping[str, Any]  # without those that are None
    rows: tuple[str, tuple[str | int, ...]] | None = None  # a column, and the values that count


def expect(
    kind: str, rows: tuple[str, tuple[str | int, ...]] | None = None, **options: Any
) -> Expectation:
    """Declare an expectation, of all rows or of those that `select` describes."""
    given = {name: value for name, value in options.items() if value is not None}
    return Expectation(kind, given, rows)


def select(column: str, *values: str | int) -> tuple[str, tuple[str | int, ...]]:
    """Describe the rows whose `column` has one of `values`."""
    return column, values
