"""Write rows with new columns behind them, in any format: parts are appended to one file.

A row of the same kind of file stays as it is, cell by cell.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.task import Field
from plumbline.contract.value_types import TYPES
from plumbline.tables.batches import Batch, CsvTable, Table
from plumbline.tables.byte_stream import is_compressed
from plumbline.tables.formats import find_kind
from plumbline.tables.records import CHUNK_ROWS
from plumbline.tables.values import encode_cell, encode_objects, encode_text

if TYPE_CHECKING:
    import pyarrow as pa

LINE_END = "\r\n"  # given to csv.writer, so that it quotes cells that contain either character
# A row group of Parquet is written when it reaches one of these.
GROUP_ROWS = 65_536
GROUP_BYTES = 64 * 2**20

Columns = Mapping[str, Sequence[Any]]


def find_output_kind(target: Path) -> str:
    """Return the kind of a file to be written; ParamsError where its name tells none."""
    try:
        kind = find_kind(str(target))
    except DataError as error:
        raise ParamsError(str(error)) from None
    if kind in ("parquet", "arrow") and is_compressed(str(target)):
        raise ParamsError(f"{target}: only text files are written with .gz; leave .gz out")
    return kind


def create_writer(target: Path, table: Table, added: Sequence[Field]) -> "TableWriter":
    """Create the writer of the output, for the rows of `table` and the columns `added`."""
    kind = find_output_kind(target)
    if kind == "csv":
        return CsvWriter(target, table, added)
    if kind == "jsonl":
        return JsonlWriter(target, table, added)
    return ArrowWriter(kind, table, added)


class CsvWriter:
    """Rows followed by their answers, with the delimiter and line ends of CSV that was read."""

    def __init__(self, target: Path, table: Table, added: Sequence[Field]) -> None:
        self._target = target
        self._columns = table.names
        self._header = table.names
        self._names = [field.name for field in added]
        self._delimiter = "\t" if ".tsv" in target.name.lower() else ","
        self._line_end = "\n"
        if isinstance(table, CsvTable):
            self._header = table.header
            self._line_end = table.line_end
            if "\t" not in (self._delimiter, table.delimiter):
                self._delimiter = table.delimiter

    def encode_header(self) -> bytes:
        """Return the names of columns and answers."""
        return self._encode([[*self._header, *self._names]])

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return rows followed by their answers."""
        rows: Iterable[Sequence[str]]
        if batch.cells is None:
            _refuse_new_keys(batch, self._columns)
            columns = [map(encode_cell, batch.get_column(name)) for name in self._columns]
            rows = zip(*columns, strict=True)
        else:
            rows = batch.cells
        added = zip(*(map(encode_cell, answers[name]) for name in self._names), strict=True)
        return self._encode((*row, *cells) for row, cells in zip(rows, added, strict=True))

    def finish(self, rows: Path) -> Path:
        """Return `rows`: nothing is left to do."""
        return rows

    def _encode(self, rows: Iterable[Sequence[str]]) -> bytes:
        lines: list[str] = []
        file = SimpleNamespace(write=lines.append)  # csv.writer writes one row at a time
        csv.writer(file, delimiter=self._delimiter, lineterminator=LINE_END).writerows(rows)
        if self._line_end != LINE_END:
            lines = [line.removesuffix(LINE_END) + self._line_end for line in lines]
        return encode_text("".join(lines), self._target)


class JsonlWriter:
    """Objects with their answers as last keys."""

    def __init__(self, target: Path, table: Table, added: Sequence[Field]) -> None:
        self._target = target
        self._columns = table.names
        self._names = [field.name for field in added]

    def encode_header(self) -> bytes:
        """Return nothing: JSON lines have no header."""
        return b""

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return objects with their answers."""
        added = {name: answers[name] for name in self._names}
        if batch.objects is None:
            columns = {name: batch.get_column(name) for name in self._columns}
            lines = encode_objects(_build_objects(columns | added))
        else:
            self._refuse_answers(batch)
            pairs = zip(batch.objects, _build_objects(added), strict=True)
            lines = encode_objects(row | answer for row, answer in pairs)
        return encode_text("".join(f"{line}\n" for line in lines), self._target)

    def finish(self, rows: Path) -> Path:
        """Return `rows`: nothing is left to do."""
        return rows

    def _refuse_answers(self, batch: Batch) -> None:
        for row, record in enumerate(batch.objects or ()):
            taken = record.keys() & self._names
            if taken:
                raise DataError(
                    f"{batch.locate_row(row)}: key {min(taken)!r} has the name of an answer; "
                    "add --prefix with another text before the names of answers"
                )


class ArrowWriter:
    """Collects batches as Arrow streams: neither Parquet nor an Arrow file can be appended to."""

    def __init__(self, kind: str, table: Table, added: Sequence[Field]) -> None:
        import pyarrow as pa

        self._kind = kind
        self._columns = table.names
        self._input_schema = table.build_schema()
        self._added_schema = pa.schema([(field.name, _convert_type(field.type)) for field in added])
        self._schema = pa.schema(
            [*self._input_schema, *self._added_schema], metadata=self._input_schema.metadata
        )

    def encode_header(self) -> bytes:
        """Return nothing: each Arrow stream has its schema."""
        return b""

    def encode_batch(self, batch: Batch, answers: Columns) -> bytes:
        """Return an Arrow stream of one batch."""
        import pyarrow as pa

        if batch.arrow is not None:
            arrays = list(batch.arrow.columns)
        else:
            _refuse_new_keys(batch, self._columns)
            arrays = _build_arrays(self._input_schema, batch.get_column, batch)
        arrays += _build_arrays(self._added_schema, answers.__getitem__, batch)
        rows = pa.record_batch(arrays, schema=self._schema)
        stream = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(stream, self._schema, options=options) as writer:
            writer.write_batch(rows)
        return bytes(stream.getvalue())

    def finish(self, rows: Path) -> Path:
        """Write the output beside `rows`; its row groups do not depend on how batches were cut."""
        import pyarrow as pa

        output = rows.with_name("finished")
        group: list[pa.RecordBatch] = []
        with _explain_schema_errors(), self._open(output) as writer:
            for batch in _read_streams(rows):
                group.append(batch)
                num_rows = sum(batch.num_rows for batch in group)
                num_bytes = sum(batch.nbytes for batch in group)
                if num_rows >= GROUP_ROWS or num_bytes >= GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(group))
                    group.clear()
            if group:
                writer.write_table(pa.Table.from_batches(group))
        return output

    def _open(self, output: Path) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._kind == "arrow":
            return pa.ipc.new_file(str(output), self._schema)
        return pq.ParquetWriter(output, self._schema, compression="zstd")


# What each encodes is appended to one file, of which `finish` makes the output.
TableWriter = CsvWriter | JsonlWriter | ArrowWriter


def _refuse_new_keys(batch: Batch, known: Sequence[str]) -> None:
    """DataError for an object with a key that the output has no column for."""
    for row, record in enumerate(batch.objects or ()):
        for key in record.keys() - known:
            raise DataError(
                f"{batch.locate_row(row)}: key {key!r} is not in any of the first {CHUNK_ROWS:,} "
                "rows; write .jsonl"
            )


def _build_objects(columns: Columns) -> Iterator[dict[str, Any]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


@contextmanager
def _explain_schema_errors() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:  # such as an object without a key
        raise DataError(
            f"these columns cannot be written as Parquet ({error}); write .jsonl"
        ) from None


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
