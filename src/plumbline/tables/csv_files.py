"""CSV and its relatives, read strictly: a quote that swallows rows is an error with its line."""

import csv
import io
import itertools
from collections.abc import Iterator

from plumbline.contract.errors import DataError
from plumbline.tables.columns import find_columns
from plumbline.tables.csv_limits import allow_wide_cells
from plumbline.tables.jsonl_files import refuse_json
from plumbline.tables.records import ReadRequest, SourceRow
from plumbline.tables.text_lines import MAX_LINE, DecodedLines

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

# The line that each record begins on, its cells, and whether bytes were replaced in it.
Records = Iterator[tuple[int, list[str], bool]]


def read_csv(stream: io.BufferedReader, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows after the header, numbered by the line each begins on (the header's is 1)."""
    lines = DecodedLines(stream, name, request.refuse_encoding)
    with allow_wide_cells(MAX_LINE):
        delimiter, records = _begin_records(lines, name, request.names)
        expected = "\t" if ".tsv" in name.lower() else ","
        if delimiter != expected:
            request.notices.append(
                f"{name}: cells are separated by {DELIMITERS[delimiter]}, "
                f"not {DELIMITERS[expected]}"
            )
        header = _read_header(records, name)
        indices = find_columns(name, header, request)
        for number, cells, repaired in records:
            if len(cells) != len(header):
                place = f"{name}:{number}: {len(cells)} cells where the header has {len(header)}"
                if len(cells) < len(header) and not lines.is_ended:
                    raise DataError(f"{place}: the file is cut off in this row; fetch it again")
                raise DataError(
                    f"{place} (separated by {DELIMITERS[delimiter]}); "
                    "put double quotes around a cell that contains one"
                )
            yield SourceRow(number, [cells[index] for index in indices], repaired)
    request.notices.extend(lines.describe())


def read_csv_names(stream: io.BufferedReader, name: str) -> list[str]:
    """Return the names of all columns, separated by what gives most of them."""
    lines = DecodedLines(stream, name, refuse_encoding=False)
    with allow_wide_cells(MAX_LINE):
        _, records = _begin_records(lines, name, wanted=())
        return _read_header(records, name)


def _begin_records(lines: DecodedLines, name: str, wanted: tuple[str, ...]) -> tuple[str, Records]:
    """Return the delimiter, and all records from the header on."""
    header_line = next(lines, "")
    refuse_json(header_line, name)
    delimiter = _detect_delimiter(header_line, wanted)
    return delimiter, _parse_records(header_line, lines, name, delimiter)


def _read_header(records: Records, name: str) -> list[str]:
    for _, header, _ in records:
        return header
    raise DataError(
        f"{name}: no line with the names of the columns; fill the file, or leave it out"
    )


def _parse_records(header_line: str, lines: DecodedLines, name: str, delimiter: str) -> Records:
    """Yield each record that is not an empty line."""
    all_lines = itertools.chain([header_line], lines)
    reader = csv.reader(all_lines, delimiter=delimiter, strict=True)
    begin = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(_explain_error(error, name, begin, lines.number)) from None
        repaired = lines.take_repaired()
        if cells:
            yield begin, cells, repaired
        begin = lines.number + 1


def _detect_delimiter(header_line: str, wanted: tuple[str, ...]) -> str:
    """The delimiter that gives most of the wanted columns; among equal ones, most columns."""

    def count_columns(delimiter: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([header_line], delimiter=delimiter))
        except csv.Error:
            return 0, 0
        return len(set(cells) & set(wanted)), len(cells)

    return max(DELIMITERS, key=count_columns)


def _explain_error(error: csv.Error, name: str, begin: int, end: int) -> str:
    if "new-line character" in str(error):
        return (
            f"{name}:{begin}: a bare carriage return outside quotes; "
            "save the file with Unix or Windows line ends"
        )
    return (
        f"{name}:{begin}: a double quote opens a cell on this line and is not closed correctly "
        f"(noticed on line {end}: {error}); close it, or double a quote that is part of the text"
    )
