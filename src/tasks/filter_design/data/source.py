"""Specifications of a user's own, from a CSV or JSONL file."""

from typing import Any

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn
from tasks.filter_design.data.specifications import COLUMNS, Specification, accept_columns
from tasks.filter_design.params import FilterData

TEXTS = ("kind", "series")
EDGES = ("pass_hz", "stop_hz")
REMEDY = "add the column; see `plumbline docs filter_design`"


def read_source(data: FilterData, notices: list[str]) -> list[Specification]:
    """Return the specifications of the source, each once; DataError names the row that is wrong."""
    wanted = tuple(WantedColumn(name, "", (), REMEDY) for name in COLUMNS)
    request = ReadRequest(wanted, refuse_encoding=True, notices=notices)
    specifications: dict[str, Specification] = {}
    num_rows = 0
    for part in locate_parts([(None, data.source)], data.sha256):
        for row in part.read_rows(request):
            num_rows += 1
            specification = _parse_row(row.values, f"{part.name}, row {row.number}")
            specifications.setdefault(specification.digest, specification)
    if num_rows > len(specifications):
        notices.append(f"{num_rows - len(specifications)} rows repeat another one: left out")
    return list(specifications.values())


def _parse_row(values: Any, place: str) -> Specification:
    """Return the specification of one row, as the predictor accepts it."""
    columns = {name: [_parse_cell(name, text)] for name, text in zip(COLUMNS, values, strict=True)}
    try:
        return accept_columns(columns)[0]
    except ValueError as error:
        message = str(error).removeprefix("row 0: ")
        raise DataError(f"{place}: {message}") from None


def _parse_cell(name: str, text: str | None) -> Any:
    """Return the value of a cell; other text is kept, so that the predictor refuses it."""
    text = (text or "").strip()
    if not text or name in TEXTS:
        return text or None
    if name in EDGES:
        return [_parse_number(part) for part in text.split()]
    return _parse_number(text)


def _parse_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
