"""CSV and TSV in and out; where input and output are one form, a row stands there byte for byte as it was."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.scoring.chunks import Chunk, Form, Source
from plumbline.scoring.lines import MAX_LINE, Lines, Record, chunked
from plumbline.scoring.values import cell, packed

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = {"csv": ",", "tsv": "\t"}
ENDS = "\r\n"  # cells that hold either are put in quotes


class Rows:
    """The rows of a file with a header; empty lines are none."""

    def __init__(self, path: Path, form: Form) -> None:
        csv.field_size_limit(MAX_LINE)  # 131,072 by default
        self._lines = Lines(path, form)
        self._records = _records(self._lines, DELIMITERS[form.kind])
        header = next(self._records, None)
        if header is None:
            raise DataError(f"{path}: the file is empty; expected a header")
        _, self.header, self.names = header
        for name in self.names:
            if self.names.count(name) > 1:
                raise DataError(f"{path}: two columns are called {name!r}; rename one")
        self.end = self._lines.end

    def schema(self) -> "pa.Schema":
        """All text: what looks like a number may be a code with leading zeros."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self.names])

    def chunks(self) -> Iterator[Chunk]:
        """Rows in the order of the file; each has as many cells as the header."""

        def column(name: str, rows: Sequence[list[str]]) -> list[str]:
            place = self.names.index(name)
            return [row[place] for row in rows]

        yield from chunked(self._checked(), self._lines, column)

    def _checked(self) -> Iterator[Record]:
        for line, raw, cells in self._records:
            if len(cells) != len(self.names):
                raise DataError(
                    f"{self._lines.here}: {len(cells)} cells where the header has {len(self.names)}; put double quotes "
                    "around a cell that holds a separator"
                )
            yield line, raw, cells

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


class Written:
    """Rows with their answers behind them."""

    def __init__(self, form: Form, source: Source, same: bool, names: Sequence[str]) -> None:
        self._form, self._columns, self._names, self._same = form, source.names, names, same
        self._delimiter, self._end = DELIMITERS[form.kind], source.end
        self._header = source.header

    def header(self) -> bytes:
        """The names of columns and answers."""
        if self._same:
            return self._packed(self._behind([self._header], [self._names]))
        return self._packed(self._lines([[*self._columns, *self._names]]))

    def encoded(self, chunk: Chunk, answers: Mapping[str, Sequence[Any]]) -> bytes:
        """Rows with their answers."""
        said = zip(*(map(cell, answers[name]) for name in self._names), strict=True)
        if self._same:
            return self._packed(self._behind(chunk.raw, said))
        cells = zip(*(map(cell, chunk.column(name)) for name in self._columns), strict=True)
        return self._packed(
            self._lines((*row, *answer) for row, answer in zip(cells, said, strict=True))
        )

    def finish(self, rows: Path) -> Path:
        """All rows are the output."""
        return rows

    def _behind(self, raw: Iterable[str], said: Iterable[Sequence[str]]) -> Iterator[str]:
        return (
            f"{row}{self._delimiter}{answer}"
            for row, answer in zip(raw, self._lines(said), strict=True)
        )

    def _lines(self, rows: Iterable[Sequence[str]]) -> list[str]:
        lines: list[str] = []
        each = SimpleNamespace(write=lines.append)  # csv writes a row at a time
        csv.writer(each, delimiter=self._delimiter, lineterminator=ENDS).writerows(rows)
        return [line.removesuffix(ENDS) + self._end for line in lines]

    def _packed(self, lines: Iterable[str]) -> bytes:
        return packed("".join(lines), self._form)


def _records(lines: Lines, delimiter: str) -> Iterator[Record]:
    """Each record with the line it begins on and its text, without the line end."""
    reader, begin = csv.reader(lines, delimiter=delimiter, strict=True), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{lines.here}: the record that begins on line {begin:,} is broken ({error}); look for a double quote "
                "that is not closed, or not doubled inside a text"
            ) from None
        raw = "".join(lines.taken).rstrip("\r\n")
        lines.taken.clear()
        if cells:
            yield begin, raw, cells
        begin = lines.number + 1
