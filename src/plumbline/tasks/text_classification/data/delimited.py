"""CSV and its kin, read strictly: a quote that swallows rows is an error with its line, not a smaller data set."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.lines import MAX_LINE, Lines
from plumbline.tasks.text_classification.data.rows import Reading, Row, positions

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read(stream: io.BufferedReader, name: str, reading: Reading) -> Iterator[Row]:
    """Yield the records after the header, numbered by the line each begins on (the header's is 1)."""
    lines = Lines(stream, name, reading.refuse_encoding)
    with _wide_cells():
        first = next(lines)
        delimiter = _delimiter(first, reading.wanted)
        expected = "\t" if ".tsv" in name else ","
        if delimiter != expected:
            reading.notices.append(
                f"{name}: cells are separated by {DELIMITERS[delimiter]}, not {DELIMITERS[expected]}"
            )
        records = _records(first, lines, name, delimiter)
        _, header, _ = next(records)
        yield from _rows(records, header, name, reading, delimiter)
    if notice := lines.notice():
        reading.notices.append(notice)


def _rows(
    records: Iterator[tuple[int, list[str], bool]],
    header: list[str],
    name: str,
    reading: Reading,
    delimiter: str,
) -> Iterator[Row]:
    pick = itemgetter(*positions(name, header, reading))
    for number, cells, repaired in records:
        if len(cells) != len(header):
            raise DataError(
                f"{name}:{number}: {len(cells)} cells where the header has {len(header)} (separated by "
                f"{DELIMITERS[delimiter]}); put double quotes around a cell that holds one"
            )
        yield Row(number, pick(cells), repaired)


def _records(
    first: str, lines: Lines, name: str, delimiter: str
) -> Iterator[tuple[int, list[str], bool]]:
    """Each record that is not an empty line, with the line it begins on and whether bytes were replaced in it."""
    reader = csv.reader(_again(first, lines), delimiter=delimiter, strict=True)
    begin = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(_explain(error, name, begin, lines.number)) from None
        repaired, lines.repaired = lines.repaired, False
        if cells:
            yield begin, cells, repaired
        begin = lines.number + 1


def _again(first: str, lines: Lines) -> Iterator[str]:
    yield first
    yield from lines


def _delimiter(header: str, wanted: tuple[str, ...]) -> str:
    """The separator that finds most of the wanted columns in the header, then that which finds most cells."""

    def found(delimiter: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([header], delimiter=delimiter))
        except csv.Error:
            return 0, 0
        return len(set(cells) & set(wanted)), len(cells)

    return max(DELIMITERS, key=found)


def _explain(error: csv.Error, name: str, begin: int, end: int) -> str:
    if "new-line character" in str(error):
        return f"{name}:{begin}: a bare carriage return outside quotes; save the file with Unix or Windows line ends"
    return (
        f"{name}:{begin}: a double quote opens a cell on this line that is not closed as it should be (noticed on line "
        f"{end}: {error}); close it, or double a quote that is part of the text"
    )


@contextmanager
def _wide_cells() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell, for as long as a file is read."""
    before = csv.field_size_limit(MAX_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)
