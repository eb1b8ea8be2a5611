"""Write rows with new columns behind them, in any format.

A row of the same kind of file stays as it is, cell by cell.
"""

import csv
import gzip
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.task import Field
from plumbline.contract.value_types import TYPES
from plumbline.tables.arrow_files import ArrowTable
from plumbline.tables.batches import Batch, Table
from plumbline.tables.byte_stream import GZIP_ENDING
from plumbline.tables.csv_files import CsvTable
from plumbline.tables.formats import find_kind
from plumbline.tables.jsonl_files import JsonTable
from plumbline.tables.parquet_batches import BatchWriter
from plumbline.tables.records import CHUNK_ROWS
from plumbline.tables.values import encode_cell, encode_json

if TYPE_CHECKING:
    import pyarrow as pa

GZIP_LEVEL = 6
LINE_END = "\r\n"  # given to csv.writer, so that it quotes cells that contain either character

Columns = Mapping[str, Sequence[Any]]


def find_output_kind(target: Path) -> str:
    """Return the kind of a file to be written; ParamsError where its name tells none."""
    try:
        return find_kind(str(target))
    except DataError as error:
        raise ParamsError(str(error)) from None


def create_writer(path: Path, name: str, table: Table, added: Sequence[Field]) -> "TableWriter":
    """Create the writer of the file at `path`, of the format that `name` says.

    It takes the rows of `table` and the columns `added`.
    """
    kind = find_kind(name)
    if kind == "csv":
        return CsvWriter(path, name, table, added)
    if kind == "jsonl":
        return JsonlWriter(path, name, table, added)
    return ArrowWriter(path, kind, table, added)


class TableWriter(AbstractContextManager["TableWriter"]):
    """Writes the rows of a table with added columns behind them; complete after the block."""

    @abstractmethod
    def write(self, batch: Batch, answers: Columns) -> None:
        """Append rows followed by their answers."""


class TextWriter(TableWriter):
    """Writes UTF-8, compressed where the name says so: equal rows give equal bytes."""

    def __init__(self, path: Path, name: str, table: Table, added: Sequence[Field]) -> None:
        self._columns = table.names
        self._names = [field.name for field in added]
        self._raw = path.open("wb")
        self._file: IO[bytes] | gzip.GzipFile = self._raw
        if name.lower().endswith(GZIP_ENDING):
            self._file = gzip.GzipFile("", "wb", GZIP_LEVEL, self._raw, mtime=0)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()


class CsvWriter(TextWriter):
    """Rows followed by their answers, with the delimiter and line ends of CSV that was read."""

    def __init__(self, path: Path, name: str, table: Table, added: Sequence[Field]) -> None:
        super().__init__(path, name, table, added)
        self._delimiter = "\t" if ".tsv" in name.lower() else ","
        self._line_end = "\n"
        if isinstance(table, CsvTable):
            self._line_end = table.line_end
            if "\t" not in (self._delimiter, table.delimiter):
                self._delimiter = table.delimiter
        self._write_cells([[*table.header, *self._names]])

    def write(self, batch: Batch, answers: Columns) -> None:
        """Append rows followed by their answers; cells of CSV stay as they are."""
        columns: list[Iterable[str]]
        if isinstance(batch.rows[0], list):
            columns = list(zip(*batch.rows, strict=True))
        else:
            _refuse_new_keys(batch, self._columns)
            columns = [map(encode_cell, batch.get_column(name)) for name in self._columns]
        columns += [map(encode_cell, answers[name]) for name in self._names]
        self._write_cells(zip(*columns, strict=True))

    def _write_cells(self, rows: Iterable[Sequence[str]]) -> None:
        lines: list[str] = []
        file = SimpleNamespace(write=lines.append)  # csv.writer writes one row at a time
        csv.writer(file, delimiter=self._delimiter, lineterminator=LINE_END).writerows(rows)
        if self._line_end != LINE_END:
            lines = [line.removesuffix(LINE_END) + self._line_end for line in lines]
        self._file.write("".join(lines).encode())


class JsonlWriter(TextWriter):
    """Objects with their answers as last keys; those that were read keep their keys."""

    def write(self, batch: Batch, answers: Columns) -> None:
        """Append objects with their answers."""
        added = _build_objects({name: answers[name] for name in self._names})
        if isinstance(batch.rows[0], dict):
            self._refuse_answers(batch)
            rows = iter(batch.rows)
        else:
            rows = _build_objects({name: batch.get_column(name) for name in self._columns})
        pairs = zip(rows, added, strict=True)
        lines = [encode_json(row | answer) + "\n" for row, answer in pairs]
        self._file.write("".join(lines).encode())

    def _refuse_answers(self, batch: Batch) -> None:
        for row, record in enumerate(batch.rows):
            taken = record.keys() & self._names
            if taken:
                raise DataError(
                    f"{batch.locate_row(row)}: key {min(taken)!r} has the name of an answer; "
                    "add --prefix with another text before the names of answers"
                )


class ArrowWriter(TableWriter):
    """Parquet, or Arrow; its row groups do not depend on how batches were cut."""

    def __init__(self, path: Path, kind: str, table: Table, added: Sequence[Field]) -> None:
        import pyarrow as pa

        self._columns = table.names
        self._input_schema = _build_schema(table)
        self._added_schema = pa.schema([(field.name, _convert_type(field.type)) for field in added])
        self._schema = pa.schema(
            [*self._input_schema, *self._added_schema], metadata=self._input_schema.metadata
        )
        with _name_arrow_errors():
            self._file = BatchWriter(path, self._schema, kind)

    def write(self, batch: Batch, answers: Columns) -> None:
        """Append rows followed by their answers."""
        import pyarrow as pa

        if isinstance(batch.rows, pa.RecordBatch):
            arrays = list(batch.rows.columns)
        else:
            _refuse_new_keys(batch, self._columns)
            arrays = _build_arrays(self._input_schema, batch.get_column, batch)
        arrays += _build_arrays(self._added_schema, answers.__getitem__, batch)
        with _name_arrow_errors():
            self._file.add(pa.record_batch(arrays, schema=self._schema))

    def __exit__(self, kind: object, *_: object) -> None:
        with _name_arrow_errors():
            self._file.__exit__(kind)


@contextmanager
def _name_arrow_errors() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:  # such as an object without a key
        raise DataError(
            f"these columns cannot be written as Parquet ({error}); write .jsonl"
        ) from None


def _refuse_new_keys(batch: Batch, known: Sequence[str]) -> None:
    """DataError for an object with a key that the output has no column for."""
    objects = batch.rows if isinstance(batch.rows[0], dict) else ()
    for row, record in enumerate(objects):
        for key in record.keys() - known:
            raise DataError(
                f"{batch.locate_row(row)}: key {key!r} is not in any of the first {CHUNK_ROWS:,} "
                "rows; write .jsonl"
            )


def _build_schema(table: Table) -> "pa.Schema":
    """Return the types of the columns of a table, as its file or its first rows have them."""
    import pyarrow as pa

    if isinstance(table, ArrowTable):
        return table.schema
    kinds = dict.fromkeys(table.names, pa.string())  # a number of CSV may be a code: 007
    if isinstance(table, JsonTable):
        for name in table.names:
            kinds[name] = _infer_type(name, table.get_first_values(name))
    return pa.schema(kinds)


def _infer_type(name: str, values: list[Any]) -> "pa.DataType":
    import pyarrow as pa

    try:
        inferred = pa.infer_type(values)
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(f"{name}: values of more than one type ({error}); write .jsonl") from None
    return pa.string() if pa.types.is_null(inferred) else inferred


def _build_objects(columns: Columns) -> Iterator[dict[str, Any]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _build_arrays(
    schema: "pa.Schema", get_column: Callable[[str], Sequence[Any]], batch: Batch
) -> "list[pa.Array]":
    import pyarrow as pa

    arrays = []
    for field in schema:
        try:
            arrays.append(pa.array(get_column(field.name), field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            last = f"row {batch.first_row + batch.num_rows:,}"
            raise DataError(
                f"{batch.locate_row(0)} to {last}: {field.name}: not all values are of type "
                f"{field.type} ({error}); write .jsonl"
            ) from None
    return arrays


def _convert_type(kind: str | Mapping[str, Any]) -> "pa.DataType":
    """Return the Arrow type of an MLflow type: its name or, if it is nested, MLflow's JSON form."""
    import pyarrow as pa

    if isinstance(kind, str):
        return pa.type_for_alias(TYPES[kind].arrow)
    match kind["type"]:
        case "array":
            return pa.list_(_convert_type(kind["items"]))
        case "object":
            properties = kind["properties"].items()
            return pa.struct([(name, _convert_type(inner)) for name, inner in properties])
        case "map":
            return pa.map_(pa.string(), _convert_type(kind["values"]))
    return _convert_type(kind["type"])
