"""CSV and its relatives, read strictly: a quote that swallows rows is an error with its line."""

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.tables.batches import Record, TextTable
from plumbline.tables.jsonl_files import refuse_json
from plumbline.tables.text_lines import LINE_ENDS, MAX_LINE, DecodedLines

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DECLARED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line that spreadsheets write
FASTTEXT = "__label__"  # begins each line of its files
CONVERT_FASTTEXT = (
    "python -c \"import csv, sys; w = csv.writer(sys.stdout); w.writerow(['label', 'text']); "
    "w.writerows(line.strip().removeprefix('__label__').split(' ', 1) for line in sys.stdin)\""
)
CUT_SAMPLE = "unexpected end of data"  # how the csv module says it


class CsvTable(TextTable):
    """The rows below the header, which has as many cells as each of them.

    A line that repeats the header, as in files that were joined, is left out. A column without a
    name of its own is called by its place.
    """

    def __init__(
        self,
        stream: io.BufferedReader,
        name: str,
        wanted: Sequence[str] = (),
        *,
        refuse_encoding: bool = False,
    ) -> None:
        if not stream.peek(1):
            raise DataError(f"{name}: the file is empty (0 bytes)")
        super().__init__(DecodedLines(stream, name, refuse_encoding))
        self._repeats: list[int] = []  # lines of the header
        first_line = next(self._lines, "")
        refuse_json(first_line, name)
        if first_line.startswith(FASTTEXT):
            raise DataError(
                f"{name}: lines of fastText, not CSV; convert them: "
                f"{CONVERT_FASTTEXT} < {name} > texts.csv"
            )
        declared = DECLARED.fullmatch(first_line.rstrip("\r\n"))
        if declared:
            first_line = next(self._lines, "")
        self.delimiter = declared[1] if declared else _detect_delimiter(first_line, wanted)
        self.line_end = "\r\n" if first_line.endswith("\r\n") else "\n"
        skips_blanks = _has_blanks_before_quotes(self._lines.sample, self.delimiter)
        self._records = self._parse(first_line, skips_blanks)
        _, self.header, _ = next(self._records, (1, [], False))
        if not self.header:
            raise DataError(
                f"{name}: no line with the names of the columns; fill the file, or leave it out"
            )
        self.names = [
            column if column.strip() and self.header.count(column) == 1 else f"column {place}"
            for place, column in enumerate(self.header, 1)
        ]
        self.flat_columns = self.header

    def __iter__(self) -> Iterator[Record]:
        for number, cells, repaired in self._records:
            if len(cells) != len(self.header):
                raise DataError(self._explain_cells(number, len(cells)))
            if cells == self.header and len(cells) > 1:
                self._repeats.append(number)
            else:
                yield number, cells, repaired

    def get_column(self, rows: Sequence[list[str]], name: str) -> list[Any]:
        """Return the cells of a column."""
        place = (self.names if name in self.names else self.header).index(name)
        return [row[place] for row in rows]

    def describe(self) -> list[str]:
        """Say also what is unusual in this CSV."""
        notices = super().describe()
        expected = "\t" if ".tsv" in self._name.lower() else ","
        if self.delimiter != expected:
            separator = DELIMITERS.get(self.delimiter, repr(self.delimiter))
            notices.append(
                f"{self._name}: cells are separated by {separator}, not {DELIMITERS[expected]}"
            )
        if self._repeats:
            notices.append(
                f"{self._name}:{self._repeats[0]}: the names of the columns again, left out "
                f"(lines of this kind: {len(self._repeats):,}); were files joined?"
            )
        return notices

    def _parse(self, first_line: str, skips_blanks: bool) -> Iterator[Record]:
        """Yield each record that is not an empty line."""
        csv.field_size_limit(MAX_LINE)  # 131,072 by default
        reader = csv.reader(
            itertools.chain([first_line], self._lines),
            delimiter=self.delimiter,
            strict=True,
            skipinitialspace=skips_blanks,
        )
        begin = self._lines.number
        while True:
            num_repaired = self._lines.num_repaired
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(
                    _explain_error(error, self._name, begin, self._lines.number)
                ) from None
            if cells:
                yield begin, cells, self._lines.num_repaired > num_repaired
            begin = self._lines.number + 1

    def _explain_cells(self, number: int, num_cells: int) -> str:
        num_names = len(self.header)
        cells = "cell" if num_cells == 1 else "cells"
        place = f"{self._name}:{number}: {num_cells} {cells} where the header has {num_names}"
        if num_cells < num_names and not self._lines.is_ended:
            return f"{place}: the file is cut off in this row; fetch it again"
        separator = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        remedy = "put double quotes around a cell that contains one"
        if num_cells < num_names:
            remedy = "add the cells that are missing, if need be empty ones"
        return f"{place} (separated by {separator}); {remedy}"


def _detect_delimiter(header_line: str, wanted: Sequence[str]) -> str:
    """The delimiter that gives most of the wanted columns; among equal ones, most columns."""

    def count_columns(delimiter: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([header_line], delimiter=delimiter))
        except (csv.Error, StopIteration):
            return 0, 0
        return len(set(cells) & set(wanted)), len(cells)

    return max(DELIMITERS, key=count_columns)


def _has_blanks_before_quotes(sample: str, delimiter: str) -> bool:
    """Whether blanks between a delimiter and a cell belong to neither, as in `1, "two, three"`.

    That is so where such a cell would begin with a quote, and all rows get as many cells.
    """
    if not re.search(f'{re.escape(delimiter)} +"', sample):
        return False
    lines = [f"{line}\n" for line in sample.split("\n")[:-1]]
    plain = _parse_sample(lines, delimiter, skips_blanks=False)
    skipping = _parse_sample(lines, delimiter, skips_blanks=True)
    if len({len(row) for row in skipping}) != 1:
        return False
    return any(
        cell.startswith(" ") and cell.lstrip(" ").startswith('"') and cell not in after
        for before, after in zip(plain, skipping, strict=False)
        for cell in before
    )


def _parse_sample(lines: list[str], delimiter: str, *, skips_blanks: bool) -> list[list[str]]:
    """Parse whole rows of the beginning of a file; none where a row is not valid."""
    rows: list[list[str]] = []
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=skips_blanks)
    try:
        rows.extend(row for row in reader if row)
    except csv.Error as error:
        return rows if CUT_SAMPLE in str(error) else []
    return rows


def _explain_error(error: csv.Error, name: str, begin: int, end: int) -> str:
    if "new-line character" in str(error):
        return f"{name}:{begin}: {LINE_ENDS}"
    return (
        f"{name}:{begin}: a double quote opens a cell on this line and is not closed correctly "
        f"(noticed on line {end}: {error}); close it, or double a quote that is part of the text"
    )
