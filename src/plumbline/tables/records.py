"""What every reader takes and gives, so that rows of every source meet the same policies."""

import datetime
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from plumbline.contract.errors import DataError

# Of what is Python objects at once; a single row may be longer.
CHUNK_ROWS = 1024
CHUNK_CHARS = 8 * 2**20


@dataclass(frozen=True)
class WantedColumn:
    """A column that the task reads, and what helps a person when the source lacks it."""

    name: str
    key: str  # the key in params.yaml that names it; empty: its name is fixed
    synonyms: tuple[str, ...] = ()  # what other data sets call it, in lower case
    remedy: str | None = None  # None: set the key to the right column
    may_be_list: bool = False  # a cell may hold a list, which is read as JSON
    is_one_of: bool = False  # the key has a list of columns

    def convert(self, value: Any, place: str) -> str | None:
        """Convert a typed value of this column as `as_text` does, and a list where it may be."""
        if self.may_be_list and isinstance(value, list):
            items = [_as_item(item, place, self.name) for item in value]
            try:
                return json.dumps(items, ensure_ascii=False, allow_nan=False)
            except (TypeError, ValueError):  # nested dates, bytes, decimals, NaN
                raise _build_refusal(value, place, self.name) from None
        return as_text(value, place, self.name)


@dataclass(frozen=True)
class ReadRequest:
    """The wanted columns in order, and what to do with bad bytes; lists collect what was found."""

    columns: tuple[WantedColumn, ...]
    refuse_encoding: bool
    notices: list[str] = field(default_factory=list)
    header: list[str] = field(default_factory=list)  # the names of all columns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the wanted columns, in order."""
        return tuple(column.name for column in self.columns)


@dataclass(slots=True)
class SourceRow:
    """One row: its line or row number, and the values of the wanted columns in order."""

    number: int
    values: Sequence[str | None]
    decoded: bool = False  # bytes that are not UTF-8 were replaced


ReadRows = Callable[[ReadRequest], Iterator[SourceRow]]


def _as_item(value: Any, place: str, column: str) -> Any:
    """Convert a value in a list as `as_text` does; what JSON can hold by itself stays."""
    is_json = isinstance(value, list | dict | int)
    return value if is_json else as_text(value, place, column)


def as_text(value: Any, place: str, column: str | None = None) -> str | None:
    """Convert a typed value: whole numbers lose their point, dates become ISO 8601, NaN is None.

    Raises DataError, which names `place` and `column`, for nested values and bytes.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float | Decimal) and math.isnan(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple | set | bytes | bytearray | memoryview):
        raise _build_refusal(value, place, column)
    return str(value)


def _build_refusal(value: Any, place: str, column: str | None) -> DataError:
    where = place if column is None else f"{place}: column {column!r}"
    kind = type(value).__name__
    shown = str(show_bytes(value))[:40]
    return DataError(f"{where}: expected text or a number, found a {kind} ({shown})")


def show_bytes(value: Any) -> Any:
    """Return the bytes of a memoryview, whose own text is an address; all else as it is."""
    return bytes(value) if isinstance(value, memoryview) else value
