"""Read and write CSV and TSV; from one to the same, a row stays as it is, byte for byte."""

import csv
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import Chunk, RowReader
from plumbline.scoring.encoding import encode_cell, encode_text
from plumbline.scoring.file_format import FileFormat
from plumbline.scoring.text_lines import MAX_LINE, LineReader, Record, group_records
from plumbline.tables.csv_limits import allow_wide_cells

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = {"csv": ",", "tsv": "\t"}
LINE_END = "\r\n"  # given to csv.writer, so that it quotes cells that contain either character


class CsvReader:
    """The rows of a file with a header; empty lines are ignored."""

    def __init__(self, path: Path, file_format: FileFormat) -> None:
        self._lines = LineReader(path, file_format)
        self._records = _parse_records(self._lines, DELIMITERS[file_format.kind])
        header = next(self._records, None)
        if header is None:
            raise DataError(f"{path}: the file is empty; expected a header")
        _, self.header, self.names = header
        for name in self.names:
            if self.names.count(name) > 1:
                raise DataError(f"{path}: duplicate column {name!r}; rename one")
        self.line_end = self._lines.line_end

    def build_schema(self) -> "pa.Schema":
        """Return all columns as text: what looks like a number may be a code with leading zeros."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self.names])

    def read_chunks(self) -> Iterator[Chunk]:
        """Read rows in the order of the file; each has as many cells as the header."""

        def pick(name: str, rows: Sequence[list[str]]) -> list[str]:
            position = self.names.index(name)
            return [row[position] for row in rows]

        yield from group_records(self._read_records(), self._lines, pick)

    def close(self) -> None:
        """Close the file, unless another thread still reads it, as after a second Ctrl-C."""
        try:
            self._records.close()
        except ValueError:  # "generator already executing": the file ends with the process
            return
        self._lines.close()

    def _read_records(self) -> Iterator[Record]:
        for line, raw, cells in self._records:
            if len(cells) != len(self.names):
                raise DataError(
                    f"{self._lines.location}: {len(cells)} cells where the header has "
                    f"{len(self.names)}; put double quotes around a cell that contains a separator"
                )
            yield line, raw, cells


class CsvWriter:
    """Rows followed by their answers."""

    def __init__(
        self, file_format: FileFormat, reader: RowReader, names: Sequence[str], *, keeps_rows: bool
    ) -> None:
        self._format = file_format
        self._columns = reader.names
        self._names = names
        self._keeps_rows = keeps_rows  # input and output have one format: rows are copied
        self._delimiter = DELIMITERS[file_format.kind]
        self._line_end = reader.line_end
        self._header = reader.header

    def encode_header(self) -> bytes:
        """Return the names of columns and answers."""
        if self._keeps_rows:
            return self._encode(self._append_cells([self._header], [self._names]))
        return self._encode(self._format_lines([[*self._columns, *self._names]]))

    def encode_chunk(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Return rows followed by their answers."""
        added = zip(*(map(encode_cell, answers[name]) for name in self._names), strict=True)
        if self._keeps_rows:
            return self._encode(self._append_cells(chunk.raw, added))
        columns = [map(encode_cell, chunk.get_column(name)) for name in self._columns]
        rows = zip(*columns, strict=True)
        return self._encode(
            self._format_lines((*row, *cells) for row, cells in zip(rows, added, strict=True))
        )

    def finish(self, rows: Path) -> Path:
        """Return `rows`: nothing is left to do."""
        return rows

    def _append_cells(self, raw: Iterable[str], added: Iterable[Sequence[str]]) -> Iterator[str]:
        for row, cells in zip(raw, self._format_lines(added), strict=True):
            yield f"{row}{self._delimiter}{cells}"

    def _format_lines(self, rows: Iterable[Sequence[str]]) -> list[str]:
        lines: list[str] = []
        file = SimpleNamespace(write=lines.append)  # csv.writer writes one row at a time
        csv.writer(file, delimiter=self._delimiter, lineterminator=LINE_END).writerows(rows)
        return [line.removesuffix(LINE_END) + self._line_end for line in lines]

    def _encode(self, lines: Iterable[str]) -> bytes:
        return encode_text("".join(lines), self._format)


def _parse_records(lines: LineReader, delimiter: str) -> Generator[Record, None, None]:
    """Yield each record with the line it begins on and its text, without the line end."""
    with allow_wide_cells(MAX_LINE):
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        begin = 1
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(
                    f"{lines.location}: the record that begins on line {begin:,} is not valid CSV "
                    f"({error}); look for a double quote that is not closed, or not doubled inside "
                    "a text"
                ) from None
            raw = "".join(lines.recent).rstrip("\r\n")
            lines.recent.clear()
            if cells:
                yield begin, raw, cells
            begin = lines.number + 1
