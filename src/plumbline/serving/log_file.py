"""Rows of the request log as a Parquet file, without those that fit into no column."""

import io
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

INT64 = range(-(2**63), 2**63)
Row = dict[str, Any]


@dataclass(frozen=True)
class LogFile:
    """The bytes of a Parquet file, and what did not fit into it."""

    content: bytes
    num_rows: int
    odd_columns: list[str]  # in which a row that is left out has a value of another type


def encode_rows(rows: list[Row]) -> LogFile:
    """Encode rows as a Parquet file with the columns of all of them; what a row lacks is null.

    A column has one type: where values differ in type, rows with other values than most are left
    out. Raises whatever pyarrow does if the rest makes no file either.
    """
    import pyarrow as pa

    columns = _gather_columns(rows)
    try:
        table = pa.Table.from_pydict(columns)
    except Exception:  # noqa: BLE001  of many kinds, by the values that do not fit
        return _encode_fitting(columns, len(rows))
    return LogFile(_write_table(table), len(rows), [])


def _encode_fitting(columns: dict[str, list[Any]], num_rows: int) -> LogFile:
    """Encode the rows whose values all fit into their columns."""
    import pyarrow as pa

    widened = {name: _widen_numbers(values) for name, values in columns.items()}
    unfit = {name: _find_unfit(values) for name, values in widened.items()}
    left_out = set().union(*unfit.values())
    table = pa.Table.from_pydict(
        {name: _drop_places(values, left_out) for name, values in widened.items()}
    )
    odd_columns = [name for name, places in unfit.items() if places]
    return LogFile(_write_table(table), num_rows - len(left_out), odd_columns)


def _write_table(table: "pa.Table") -> bytes:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _gather_columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Turn rows into columns; lists and objects become JSON text."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_encode_nested(row.get(name)) for row in rows] for name in names}


def _encode_nested(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _widen_numbers(values: list[Any]) -> list[Any]:
    """Make all numbers floats, if some are, or a whole number needs more than 64 bits."""
    if not any(_is_wide(value) for value in values):
        return values
    return [_convert_to_float(value) for value in values]


def _is_wide(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and value not in INT64)


def _convert_to_float(value: Any) -> Any:
    """Convert a whole number, unless it is beyond all floats."""
    try:
        return float(value) if type(value) is int else value
    except OverflowError:
        return value


def _find_unfit(values: list[Any]) -> set[int]:
    """Find where the values of a column are neither null nor of its commonest type."""
    types = [_find_type(value) for value in values]
    null = _find_type(None)
    counts = Counter(kind for kind in types if kind not in (None, null))
    fitting = {null, *(kind for kind, _ in counts.most_common(1))}
    return {place for place, kind in enumerate(types) if kind not in fitting}


def _find_type(value: Any) -> "pa.DataType | None":
    """Return the type of a column that has this value; None if there is none."""
    import pyarrow as pa

    try:
        return pa.scalar(value).type
    except Exception:  # noqa: BLE001  of many kinds
        return None


def _drop_places(values: list[Any], places: set[int]) -> list[Any]:
    return [value for place, value in enumerate(values) if place not in places]
