"""A file of any kind as batches of its rows, with all columns and in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from plumbline.contract.errors import DataError
from plumbline.tables.arrow_files import ArrowTable
from plumbline.tables.arrow_values import list_values
from plumbline.tables.byte_stream import open_stream
from plumbline.tables.csv_files import CsvRecords
from plumbline.tables.formats import find_kind
from plumbline.tables.jsonl_files import JsonRecords
from plumbline.tables.records import CHUNK_CHARS, CHUNK_ROWS
from plumbline.tables.rows import split_large

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a file."""

    name: str  # of the file
    first_row: int  # counted from 0
    num_rows: int
    get_column: Callable[[str], list[Any]]  # the values in the column of that name
    lines: Sequence[int] = ()  # text files: where each row begins, from 1
    cells: Sequence[list[str]] | None = None  # of CSV
    objects: Sequence[dict[str, Any]] | None = None  # of JSON lines
    arrow: "pa.RecordBatch | None" = None  # of Parquet and Arrow

    def locate_row(self, row: int) -> str:
        """Return file, row and line of a row of this batch, counted from 1."""
        line = f" (line {self.lines[row]:,})" if self.lines else ""
        return f"{self.name}: row {self.first_row + row + 1:,}{line}"


def open_table(path: Path, wanted: Sequence[str] = (), *, refuse_encoding: bool = False) -> "Table":
    """Open a file, which the caller closes; DataError if its beginning is not valid.

    `wanted` are names of columns of which some are expected: they tell the delimiter of CSV.
    """
    name = str(path)
    kind = find_kind(name)
    try:
        file = path.open("rb")
        size = max(1, path.stat().st_size)
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror})") from None
    opened = OpenFile(file, size)
    try:
        stream = open_stream(file, name)
        if kind == "csv":
            records = CsvRecords(stream, name, wanted, refuse_encoding=refuse_encoding)
            return CsvTable(name, opened, records)
        if kind == "jsonl":
            objects = JsonRecords(stream, name, refuse_encoding=refuse_encoding)
            return JsonTable(name, opened, objects)
        return ArrowBatches(name, opened, ArrowTable(stream, name, kind))
    except BaseException:
        opened.close()
        raise


@dataclass(frozen=True)
class OpenFile:
    """The bytes behind a table."""

    file: IO[bytes]
    size: int

    def measure_progress(self) -> float:
        """Return the share of the bytes that were read."""
        return min(1.0, self.file.tell() / self.size)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class CsvTable:
    """The rows of a delimited file; a column without a name of its own is called by its place."""

    def __init__(self, name: str, file: OpenFile, records: CsvRecords) -> None:
        self._name = name
        self._records = records
        self.header = records.header
        self.delimiter = records.delimiter
        self.line_end = records.line_end
        self.names = [
            column if column.strip() and self.header.count(column) == 1 else f"column {place}"
            for place, column in enumerate(self.header, 1)
        ]
        self.measure_progress = file.measure_progress
        self.describe = records.describe
        self.close = file.close

    def build_schema(self) -> "pa.Schema":
        """Return all columns as text: what looks like a number may be a code with leading zeros."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self.names])

    def read_batches(self) -> Iterator[Batch]:
        """Read rows in the order of the file."""
        places = {name: place for place, name in enumerate(self.names)}

        def build(first_row: int, lines: list[int], rows: list[list[str]]) -> Batch:
            def get_column(name: str) -> list[Any]:
                place = places[name]
                return [row[place] for row in rows]

            return Batch(self._name, first_row, len(rows), get_column, lines, cells=rows)

        yield from _group(self._records, self._records.get_offset, build)


class JsonTable:
    """The objects of a file of JSON lines."""

    def __init__(self, name: str, file: OpenFile, records: JsonRecords) -> None:
        self._name = name
        self._records = records
        self.names = records.names
        self.measure_progress = file.measure_progress
        self.describe = records.describe
        self.close = file.close

    def build_schema(self) -> "pa.Schema":
        """Infer types from the first rows; DataError for a column with values of many types."""
        import pyarrow as pa

        return pa.schema([(name, self._infer_type(name)) for name in self.names])

    def read_batches(self) -> Iterator[Batch]:
        """Read rows in the order of the file."""

        def build(first_row: int, lines: list[int], objects: list[dict[str, Any]]) -> Batch:
            def get_column(name: str) -> list[Any]:
                return [each.get(name) for each in objects]

            return Batch(self._name, first_row, len(objects), get_column, lines, objects=objects)

        yield from _group(self._records, self._records.get_offset, build)

    def _infer_type(self, name: str) -> "pa.DataType":
        import pyarrow as pa

        try:
            inferred = pa.infer_type([record.get(name) for _, record, _ in self._records.head])
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(
                f"{self._name}: {name}: values of more than one type ({error}); write .jsonl"
            ) from None
        return pa.string() if pa.types.is_null(inferred) else inferred


class ArrowBatches:
    """The rows of a Parquet or Arrow file."""

    def __init__(self, name: str, file: OpenFile, table: ArrowTable) -> None:
        self._name = name
        self._file = file
        self._table = table
        self._num_read = 0
        self.names = table.names
        for column in self.names:
            if self.names.count(column) > 1:
                raise DataError(f"{name}: duplicate column {column!r}; rename one")

    def build_schema(self) -> "pa.Schema":
        """Return the file's schema."""
        return self._table.schema

    def read_batches(self) -> Iterator[Batch]:
        """Read rows in the order of the file."""
        for batch in self._table.read_batches():
            for part in split_large(batch):
                first_row = self._num_read
                self._num_read += part.num_rows
                getter = self._build_getter(part, first_row)
                yield Batch(self._name, first_row, part.num_rows, getter, arrow=part)

    def measure_progress(self) -> float:
        """Return the share of the rows that were read or, where it is not known, of the bytes."""
        if self._table.num_rows:
            return self._num_read / self._table.num_rows
        return self._file.measure_progress()

    def describe(self) -> list[str]:
        """Return nothing: such a file says itself how it is read."""
        return []

    def close(self) -> None:
        """Close the file."""
        with closing(self._table):
            self._file.close()

    def _build_getter(self, batch: "pa.RecordBatch", first_row: int) -> Callable[[str], list[Any]]:
        def get_column(name: str) -> list[Any]:
            def describe_place(position: int) -> str:
                return f"{self._name}: row {first_row + position + 1:,}: column {name!r}"

            return list_values(batch.column(name), describe_place)

        return get_column


Table = CsvTable | JsonTable | ArrowBatches


def _group(
    records: Iterable[tuple[int, T, bool]],
    get_offset: Callable[[], int],
    build: Callable[[int, list[int], list[T]], Batch],
) -> Iterator[Batch]:
    """Group the values of records into batches; `get_offset` says how many bytes were read."""
    first_row = 0
    lines: list[int] = []
    values: list[T] = []
    begin = get_offset()
    for line, value, _ in records:
        lines.append(line)
        values.append(value)
        if len(values) == CHUNK_ROWS or get_offset() - begin >= CHUNK_CHARS:
            yield build(first_row, lines, values)
            first_row += len(values)
            lines, values = [], []
            begin = get_offset()
    if values:
        yield build(first_row, lines, values)
