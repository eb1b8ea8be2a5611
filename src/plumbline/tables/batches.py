"""Consecutive rows of a file of any kind, with all columns and in bounded memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from plumbline.tables.byte_stream import name_read_errors
from plumbline.tables.records import CHUNK_CHARS, CHUNK_ROWS

if TYPE_CHECKING:
    from plumbline.tables.text_lines import DecodedLines

# The line that a row of a text file begins on, the row, and whether bytes were replaced in it.
Record = tuple[int, Any, bool]


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a file."""

    name: str  # of the file
    first_row: int  # counted from 0
    rows: Any  # lists of cells of CSV, objects of JSON lines, or a RecordBatch
    num_rows: int
    get_column: Callable[[str], list[Any]]  # the values in the column of that name
    lines: Sequence[int] = ()  # text files: where each row begins, from 1
    repaired: Sequence[bool] = ()  # text files: whether bytes of a row were replaced

    def locate_row(self, row: int) -> str:
        """Return file, row and line of a row of this batch, counted from 1."""
        line = f" (line {self.lines[row]:,})" if self.lines else ""
        return f"{self.name}: row {self.first_row + row + 1:,}{line}"

    def list_numbers(self) -> Sequence[int]:
        """List the lines of the rows or, in a file without lines, their numbers from 1."""
        first = self.first_row + 1
        return self.lines or range(first, first + self.num_rows)


class Table(ABC):
    """The columns and rows of an open file."""

    header: list[str]  # as the file has it
    names: list[str]  # of the columns, each once
    flat_columns: list[str]  # of the header: those with single values, or lists of texts
    num_rows: int | None = None  # None: known when they were read

    @abstractmethod
    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all rows in order, with these columns at least."""

    def describe(self) -> list[str]:
        """Say how the file was read; call it after the last row."""
        return []


class TextTable(Table):
    """The rows of a text file; a format says how lines are rows, and rows have columns."""

    def __init__(self, lines: "DecodedLines") -> None:
        self._name = lines.name
        self._lines = lines

    @abstractmethod
    def __iter__(self) -> Iterator[Record]:
        """Yield the rows in the order of the file."""

    @abstractmethod
    def get_column(self, rows: Sequence[Any], name: str) -> list[Any]:
        """Return the values of a column."""

    def describe(self) -> list[str]:
        """Say which bytes were replaced."""
        return self._lines.describe()

    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all rows in order."""
        first_row = 0
        records: list[Record] = []
        begin = self._lines.num_chars
        with name_read_errors(self._name):
            for record in self:
                records.append(record)
                if len(records) == CHUNK_ROWS or self._lines.num_chars - begin >= CHUNK_CHARS:
                    yield self._build_batch(first_row, records)
                    first_row += len(records)
                    records = []
                    begin = self._lines.num_chars
        if records:
            yield self._build_batch(first_row, records)

    def _build_batch(self, first_row: int, records: list[Record]) -> Batch:
        lines, rows, repaired = zip(*records, strict=True)
        getter = partial(self.get_column, rows)
        return Batch(self._name, first_row, rows, len(rows), getter, lines, repaired)
