"""Write rows with new columns behind them, in any format: parts are appended to one file.

A row of the same kind of file stays as it is, cell by cell.
"""

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.task import Field
from plumbline.contract.value_types import TYPES
from plumbline.tables.batches import Batch
from plumbline.tables.csv_files import CsvTable
from plumbline.tables.formats import Table, find_kind
from plumbline.tables.parquet_batches import BatchWriter
from plumbline.tables.records import CHUNK_ROWS
from plumbline.tables.values import encode_cell, encode_json, encode_text

if TYPE_CHECKING:
    import pyarrow as pa

LINE_END = "\r\n"  # given to csv.writer, so that it quotes cells that contain either character

Columns = Mapping[str, Sequence[Any]]


def find_output_kind(target: Path) -> str:
    """Return the kind of a file to be written; ParamsError where its name tells none."""
    try:
        return find_kind(str(target))
    except DataError as error:
        raise ParamsError(str(error)) from None


def create_writer(target: Path, table: Table, added: Sequence[Field]) -> "TableWriter":
    """Create the writer of the output, for the rows of `table` and the columns `added`."""
    kind = find_output_kind(target)
    writer = {"csv": CsvWriter, "jsonl": JsonlWriter}.get(kind, ArrowWriter)
    return writer(target, table, added)


class TableWriter(ABC):
    """Encodes the rows of `table` with `added` columns behind them.

    What it returns is appended to one file, of which `finish` makes the output.
    """

    def __init__(self, target: Path, table: Table, added: Sequence[Field]) -> None:
        self._target = target
        self._columns = table.names
        self._names = [field.name for field in added]

    @abstractmethod
    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return rows followed by their answers."""

    def encode_header(self) -> bytes:
        """Return what is before all rows."""
        return b""

    def finish(self, rows: Path) -> Path:
        """Return the output: the file of all rows, or one beside it."""
        return rows


class CsvWriter(TableWriter):
    """Rows followed by their answers, with the delimiter and line ends of CSV that was read."""

    def __init__(self, target: Path, table: Table, added: Sequence[Field]) -> None:
        super().__init__(target, table, added)
        self._header = table.header
        self._delimiter = "\t" if ".tsv" in target.name.lower() else ","
        self._line_end = "\n"
        if isinstance(table, CsvTable):
            self._line_end = table.line_end
            if "\t" not in (self._delimiter, table.delimiter):
                self._delimiter = table.delimiter

    def encode_header(self) -> bytes:
        """Return the names of columns and answers."""
        return self._encode([[*self._header, *self._names]])

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return rows followed by their answers; cells of CSV stay as they are."""
        columns: list[Iterable[str]]
        if isinstance(batch.rows[0], list):
            columns = list(zip(*batch.rows, strict=True))
        else:
            _refuse_new_keys(batch, self._columns)
            columns = [map(encode_cell, batch.get_column(name)) for name in self._columns]
        columns += [map(encode_cell, answers[name]) for name in self._names]
        return self._encode(zip(*columns, strict=True))

    def _encode(self, rows: Iterable[Sequence[str]]) -> bytes:
        lines: list[str] = []
        file = SimpleNamespace(write=lines.append)  # csv.writer writes one row at a time
        csv.writer(file, delimiter=self._delimiter, lineterminator=LINE_END).writerows(rows)
        if self._line_end != LINE_END:
            lines = [line.removesuffix(LINE_END) + self._line_end for line in lines]
        return encode_text("".join(lines), self._target)


class JsonlWriter(TableWriter):
    """Objects with their answers as last keys; those that were read keep their keys."""

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return objects with their answers."""
        added = _build_objects({name: answers[name] for name in self._names})
        if isinstance(batch.rows[0], dict):
            self._refuse_answers(batch)
            rows = iter(batch.rows)
        else:
            rows = _build_objects({name: batch.get_column(name) for name in self._columns})
        pairs = zip(rows, added, strict=True)
        lines = [encode_json(row | answer) + "\n" for row, answer in pairs]
        return encode_text("".join(lines), self._target)

    def _refuse_answers(self, batch: Batch) -> None:
        for row, record in enumerate(batch.rows):
            taken = record.keys() & self._names
            if taken:
                raise DataError(
                    f"{batch.locate_row(row)}: key {min(taken)!r} has the name of an answer; "
                    "add --prefix with another text before the names of answers"
                )


class ArrowWriter(TableWriter):
    """Collects batches as Arrow streams: neither Parquet nor an Arrow file can be appended to."""

    def __init__(self, target: Path, table: Table, added: Sequence[Field]) -> None:
        import pyarrow as pa

        super().__init__(target, table, added)
        self._input_schema = table.build_schema()
        self._added_schema = pa.schema([(field.name, _convert_type(field.type)) for field in added])
        self._schema = pa.schema(
            [*self._input_schema, *self._added_schema], metadata=self._input_schema.metadata
        )

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return an Arrow stream of one batch."""
        import pyarrow as pa

        if isinstance(batch.rows, pa.RecordBatch):
            arrays = list(batch.rows.columns)
        else:
            _refuse_new_keys(batch, self._columns)
            arrays = _build_arrays(self._input_schema, batch.get_column, batch)
        arrays += _build_arrays(self._added_schema, answers.__getitem__, batch)
        stream = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(stream, self._schema, options=options) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        return bytes(stream.getvalue())

    def finish(self, rows: Path) -> Path:
        """Write the output beside `rows`; its row groups do not depend on how batches were cut."""
        import pyarrow as pa

        output = rows.with_name("finished")
        try:
            with BatchWriter(output, self._schema, find_kind(self._target.name)) as writer:
                for batch in _read_streams(rows):
                    writer.add(batch)
        except pa.ArrowException as error:  # such as an object without a key
            raise DataError(
                f"these columns cannot be written as Parquet ({error}); write .jsonl"
            ) from None
        return output


def _refuse_new_keys(batch: Batch, known: Sequence[str]) -> None:
    """DataError for an object with a key that the output has no column for."""
    objects = batch.rows if isinstance(batch.rows[0], dict) else ()
    for row, record in enumerate(objects):
        for key in record.keys() - known:
            raise DataError(
                f"{batch.locate_row(row)}: key {key!r} is not in any of the first {CHUNK_ROWS:,} "
                "rows; write .jsonl"
            )


def _build_objects(columns: Columns) -> Iterator[dict[str, Any]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _read_streams(rows: Path) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    with pa.OSFile(str(rows)) as file:
        while file.tell() < file.size():
            yield from pa.ipc.open_stream(file)


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
