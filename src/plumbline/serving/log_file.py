"""The files of the request log: how rows are encoded, and which files are kept."""

import io
import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from plumbline.serving.exchange import Row
from plumbline.sources.request_folder import PREFIX, SUFFIX, RequestFolder

STAMP = "%Y%m%dT%H%M%S"
TEXTS = ("request_id", "model", "version", "bundle", "side", "assigned", "key")
NUMBERS = ("ms", "draw", "share")
ENCODER = json.JSONEncoder(ensure_ascii=False)
INT64 = range(-(2**63), 2**63)


def name_file() -> str:
    """Name a new file by the time, which is after all of its requests, and chance."""
    return f"{PREFIX}{datetime.now(UTC):{STAMP}}-{secrets.token_hex(8)}{SUFFIX}"


def encode_rows(rows: list[Row], about: dict[str, Any]) -> bytes:
    """Encode rows as a Parquet file with the columns of all of them; what a row lacks is null.

    `about` becomes JSON in its metadata, under `plumbline`. Raises whatever pyarrow does where
    the values of a column differ in type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The same in each file, also where a column is null in all of its rows.
    types = dict.fromkeys(TEXTS, pa.string()) | dict.fromkeys(NUMBERS, pa.float64())
    types |= {"at": pa.timestamp("us", "UTC"), "row": pa.int32(), "shown": pa.bool_()}
    names = dict.fromkeys(name for row in rows for name in row) or types
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name in names - types.keys():
        columns[name] = _widen_numbers([_encode_nested(value) for value in columns[name]])
    arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
    table = pa.table(arrays).replace_schema_metadata({"plumbline": json.dumps(about)})
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _encode_nested(value: Any) -> Any:
    """Return a list or an object as JSON text, and all else as it is."""
    return ENCODER.encode(value) if isinstance(value, list | dict) else value


def _widen_numbers(values: list[Any]) -> list[Any]:
    """Make all numbers floats, if some are, or a whole number needs more than 64 bits."""
    numbers = [value for value in values if type(value) in (int, float)]
    if all(type(value) is int and value in INT64 for value in numbers):
        return values
    return [float(value) if type(value) is int else value for value in values]


def delete_outdated(folder: RequestFolder, max_days: float, max_mb: float, now: datetime) -> bool:
    """Delete files older than `max_days`, and the oldest of the others that exceed `max_mb`.

    Returns whether there were such others. OSError where a file cannot be deleted.
    """
    names = folder.list_names()
    first_young = f"{PREFIX}{now - timedelta(days=max_days):{STAMP}}"
    num_kept, num_bytes = 0, 0
    for name in reversed(names):
        num_bytes += folder.measure(name)
        if name < first_young or num_bytes > max_mb * 1e6:
            break
        num_kept += 1
    outdated = names[: len(names) - num_kept]
    for name in outdated:
        folder.delete(name)
    return bool(outdated) and outdated[-1] >= first_young
