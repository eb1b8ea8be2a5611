"""CSV and its relatives, read strictly: a quote that swallows rows is an error with its line."""

import csv
import io
import itertools
from collections.abc import Iterator

from plumbline.contract.errors import DataError
from plumbline.sources.columns import find_columns
from plumbline.sources.csv_limits import allow_wide_cells
from plumbline.sources.jsonl_files import refuse_json
from plumbline.sources.records import ReadRequest, SourceRow
from plumbline.sources.text_lines import MAX_LINE, DecodedLines

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read_csv(stream: io.BufferedReader, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    """Yield the rows after the header, numbered by the line each begins on (the header's is 1)."""
    lines = DecodedLines(stream, name, request.refuse_encoding)
    with allow_wide_cells(MAX_LINE):
        header_line = next(lines, "")
        refuse_json(header_line, name)
        delimiter = _detect_delimiter(header_line, request.names)
        expected = "\t" if ".tsv" in name else ","
        if delimiter != expected:
            request.notices.append(
                f"{name}: cells are separated by {DELIMITERS[delimiter]}, "
                f"not {DELIMITERS[expected]}"
            )
        records = _parse_records(header_line, lines, name, delimiter)
        _, header, _ = next(records, (1, [], False))
        if not header:
            raise DataError(
                f"{name}: no line with the names of the columns; fill the file, or leave it out"
            )
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


def _parse_records(
    header_line: str, lines: DecodedLines, name: str, delimiter: str
) -> Iterator[tuple[int, list[str], bool]]:
    """Yield each record that is not an empty line.

    With it come the line it begins on, and whether bytes were replaced in it.
    """
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
