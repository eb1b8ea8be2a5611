"""Rows of the request log as a Parquet file."""

import io
import json
from typing import Any

INT64 = range(-(2**63), 2**63)
Row = dict[str, Any]


def encode_rows(rows: list[Row]) -> bytes:
    """Encode rows as a Parquet file with the columns of all of them; what a row lacks is null.

    Raises whatever pyarrow does where the values of a column differ in type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: _widen_numbers(values) for name, values in _gather_columns(rows).items()}
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pydict(columns), content)
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
    return [float(value) if type(value) is int else value for value in values]


def _is_wide(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and value not in INT64)
