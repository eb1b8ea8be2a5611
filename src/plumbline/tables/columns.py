"""The wanted columns in the header of a source; a message says what could be meant instead."""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from plumbline.contract.errors import DataError
from plumbline.contract.yaml_file import format_value
from plumbline.tables.records import ReadRequest, WantedColumn

NUM_NAMES = 30  # how many columns of a header a message lists
CONVERT_TEXTS = (
    'python -c "import csv, pathlib, sys; w = csv.writer(sys.stdout); '
    "w.writerow(['label', 'text']); w.writerows((p.parent.name, p.read_text('utf-8')) "
    "for p in sorted(pathlib.Path('{}').glob('*/*.txt')))\" > texts.csv"
)
LONGEST_NAME = 60  # characters of each


def find_columns(name: str, header: Sequence[str], request: ReadRequest) -> list[int]:
    """Return the index in `header` of each wanted column.

    Raises DataError where a column is missing (and says which one could be meant) or ambiguous.
    """
    missing = [column for column in request.columns if column.name not in header]
    if missing:
        raise DataError("\n".join(_explain_missing(name, missing, header, request)))
    for column in request.names:
        count = header.count(column)
        if count > 1:
            raise DataError(f"{name}: {count} columns are called {column!r}; rename all but one")
    request.header[:] = header
    unused = [column for column in header if column not in request.names]
    if unused:
        request.notices.append(f"{name}: columns that are not read: {_list_names(unused)}")
    return [header.index(column) for column in request.names]


def _explain_missing(
    name: str, missing: list[WantedColumn], header: Sequence[str], request: ReadRequest
) -> Iterator[str]:
    wanted = " or ".join(repr(column.name) for column in missing)
    yield f"{name}: no column {wanted}; found {_list_names(header)}"
    unused = [column for column in header if column not in request.names]
    has_other_names = any(_guess_column(column, unused) for column in missing)
    if not set(header) & set(request.names) and not has_other_names:
        yield (
            "  if that is the first row of the data, the file has no header: "
            "add a first line with the names of its columns"
        )
        folder = PurePath(name).parent.parent
        if name.endswith(".txt") and folder.name:
            command = CONVERT_TEXTS.format(folder)
            yield f"  if each file is a text and its folder the label: {command}"
    yield from dict.fromkeys(_suggest_remedy(column, unused) for column in missing)


def _suggest_remedy(column: WantedColumn, unused: list[str]) -> str:
    candidate = _guess_column(column, unused)
    if candidate and column.is_one_of:
        place = f"{format_value(candidate)} in place of {format_value(column.name)}"
        return f"  is it {candidate!r}? then write {place} in {column.key}"
    if candidate and not column.key:
        return f"  is it {candidate!r}? then call it {column.name!r}"
    if candidate:
        return f"  is it {candidate!r}? then set {column.key}: {format_value(candidate)}"
    return f"  {column.remedy or f'set {column.key} to the column that holds it'}"


def _list_names(header: Sequence[str]) -> str:
    names = []
    for column in header[:NUM_NAMES]:
        short = column if len(column) <= LONGEST_NAME else column[:LONGEST_NAME] + "..."
        names.append(repr(short))
    more = f" and {len(header) - NUM_NAMES} more" if len(header) > NUM_NAMES else ""
    return (", ".join(names) or "none") + more


def _guess_column(column: WantedColumn, unused: list[str]) -> str | None:
    """The unused column with the most similar name, else the first one with a known synonym."""
    by_folded = {other.strip().casefold(): other for other in reversed(unused)}
    wanted = column.name.strip().casefold()
    similar = difflib.get_close_matches(wanted, list(by_folded), n=1, cutoff=0.6)
    if similar:
        return by_folded[similar[0]]
    return next((other for other in unused if other.strip().casefold() in column.synonyms), None)
