"""The names of the columns of a file, before it is known which of them are wanted."""

from pathlib import Path
from typing import IO, TYPE_CHECKING

from plumbline.contract.errors import DataError
from plumbline.tables import formats
from plumbline.tables.byte_stream import open_seekable, open_stream
from plumbline.tables.csv_files import read_csv, read_csv_names
from plumbline.tables.jsonl_files import read_first_object, read_jsonl

if TYPE_CHECKING:
    import io

    import pyarrow as pa


def read_header(path: Path) -> list[str]:
    """Return the names of the columns that hold a value or a list of texts, in the file's order.

    Raises DataError for a file that cannot be read, or of a kind that plumbline does not read.
    """
    reader = formats.choose_reader(path.name)
    try:
        with path.open("rb") as file:
            stream = open_stream(file, path.name)
            if reader is read_csv:
                return read_csv_names(stream, path.name)
            if reader is read_jsonl:
                record = read_first_object(stream, path.name)
                return [key for key, value in record.items() if not _is_nested(value)]
            return _read_arrow_names(stream, path.name)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def _is_nested(value: object) -> bool:
    """Whether a value is neither a single one nor a list of texts, which may be labels."""
    if isinstance(value, list):
        return not all(isinstance(item, str) for item in value)
    return isinstance(value, dict)


def _read_arrow_names(stream: "io.BufferedReader", name: str) -> list[str]:
    import pyarrow as pa

    try:
        with open_seekable(stream) as file:
            schema = _read_schema(file)
    except pa.ArrowException as error:
        raise DataError(f"{name}: not valid Parquet or Arrow ({str(error)[:200]})") from None
    return [field.name for field in schema if _is_readable(field.type)]


def _is_readable(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list:
        return not pa.types.is_nested(kind)
    item = kind.value_type
    return bool(pa.types.is_string(item) or pa.types.is_large_string(item))


def _read_schema(file: IO[bytes]) -> "pa.Schema":
    import pyarrow as pa
    import pyarrow.parquet as pq

    head = file.read(6)
    file.seek(0)
    if head.startswith(b"PAR1"):
        return pq.read_schema(file)
    if head == b"ARROW1":
        return pa.ipc.open_file(file).schema
    return pa.ipc.open_stream(file).schema
