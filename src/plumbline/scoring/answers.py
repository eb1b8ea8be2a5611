"""The model's answers to a batch of rows, and the reason for each row without an answer."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plumbline.bundle import strict
from plumbline.contract.answers import NOT_FINITE, find_not_finite
from plumbline.contract.errors import DataError, PlumblineError
from plumbline.contract.task import Field, Signature, count_rows, take_rows
from plumbline.contract.value_types import build_cell_parser
from plumbline.tables.records import as_text

BAD_ROW = re.compile(r"row (\d+): (.*)", re.DOTALL)

Predict = Callable[[Mapping[str, Sequence[Any]]], dict[str, list[Any]]]


def answer_rows(
    predict: Predict, signature: Signature, given: Mapping[str, list[Any]], keep_bad: bool
) -> tuple[dict[str, list[Any]], dict[int, str]]:
    """Ask `predict` for every row of `given`, which has a column for each input of the signature.

    Returns columns of answers, None for a row without one, and the reason for each such row.
    Without `keep_bad` stop at the first bad row.
    """
    num_rows = count_rows(given)
    bad: dict[int, str] = {}
    inputs = {each.name: _convert_column(each, given[each.name], bad) for each in signature.inputs}
    columns: dict[str, list[Any]] = {field.name: [None] * num_rows for field in signature.outputs}
    rest = [row for row in range(num_rows) if row not in bad]
    before: list[int] = []  # rows before a bad one: they are asked once more, together
    while rest and (keep_bad or not bad):
        try:
            answers = predict(take_rows(inputs, rest))
        except ValueError as error:
            position, reason = _parse_bad_row(error, len(rest))
            bad[rest[position]] = reason
            before += rest[:position]
            rest = rest[position + 1 :]
            if not rest:
                rest, before = before, []
            continue
        _fill_columns(columns, rest, answers)
        rest, before = before, []
    _blank_not_finite(columns, bad)
    return columns, bad


def _fill_columns(
    columns: dict[str, list[Any]], rows: list[int], answers: dict[str, list[Any]]
) -> None:
    for name, values in answers.items():
        if len(values) != len(rows):  # nobody can tell which ones were left out
            raise PlumblineError(
                f"the model answered {len(values)} of {len(rows)} rows in its column {name}; "
                "do not use its answers"
            )
        for row, value in zip(rows, values, strict=True):
            columns[name][row] = value


def _blank_not_finite(columns: dict[str, list[Any]], bad: dict[int, str]) -> None:
    for row, name in find_not_finite(columns).items():
        bad[row] = f"{name}: {NOT_FINITE}"
        for values in columns.values():
            values[row] = None


def _parse_bad_row(error: ValueError, num_rows: int) -> tuple[int, str]:
    """Return which row a predictor's error names, from 0, and what is wrong with it."""
    match = BAD_ROW.match(str(error))
    if not match or int(match[1]) >= num_rows:
        raise PlumblineError(str(error)) from None
    return int(match[1]), match[2]


def _convert_column(field: Field, values: list[Any], bad: dict[int, str]) -> list[Any]:
    """Convert values to the type that the model takes; rows that fail go to `bad`.

    Text of CSV is parsed; numbers and dates become text, as ingest reads them.
    """
    if field.type == "string":
        _convert_texts(field, values, bad)
        if field.required:
            return values
    parse = build_cell_parser(field, strict.parse_json)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            continue
        try:
            values[row] = parse(value)
        except ValueError as error:
            bad.setdefault(row, f"{error}, found {value.strip()[:40]!r}")
    return values


def _convert_texts(field: Field, values: list[Any], bad: dict[int, str]) -> None:
    for row, value in enumerate(values):
        if isinstance(value, str):
            continue
        try:
            values[row] = as_text(value, field.name)
        except DataError as error:
            bad.setdefault(row, str(error))
