"""`plumbline predict`: ask a registered model for a few rows."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from plumbline.bundle import strict
from plumbline.contract import layout
from plumbline.contract.answers import NOT_FINITE, find_not_finite
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.task import Signature
from plumbline.process.visible_text import dump_visibly, show_lines
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.request_body import parse_body
from plumbline.terminal.console import out
from plumbline.terminal.options import (
    ChampionAddress,
    InferenceParams,
    JsonLines,
    parse_inference_params,
)

MAX_COLUMNS, MAX_NUMBERS = 8, 24  # that a table shows
EXAMPLE = 'plumbline predict "where is my parcel" --param top_k=3'


def predict(
    values: Annotated[
        list[str],
        typer.Argument(
            help="The inputs: one value a row, a JSON object a row where the model has several "
            "input columns, or '-' to read rows from stdin."
        ),
    ],
    model: ChampionAddress = "",
    set_: InferenceParams = [],  # noqa: B006 (typer copies it)
    as_json: JsonLines = False,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write texts of several lines, such as netlists, to this folder.",
            show_default="they are not written",
        ),
    ] = None,
) -> None:
    """Ask a registered model for a few rows.

    The model's files are verified against the registry before any of its code runs.
    """
    from plumbline.contract.loading import load_params, load_task
    from plumbline.registry.reader import open_version
    from plumbline.registry.reader.loading import ask_predictor

    params = load_params(layout.PARAMS)
    task = load_task(params.task)
    rows = [line.rstrip("\n") for line in sys.stdin] if values == ["-"] else values
    chosen = parse_inference_params(set_, task.signature.params)
    request = _parse_rows(task.signature, rows, chosen)
    address = model or f"models:/{params.registry.model}@champion"
    with open_version(address, require_journal=True) as version:
        if version.task != task.name:
            raise PlumblineError(
                f"{version.registered.label} is of the task {version.task}, params.yaml names "
                f"{task.name}; give its own params.yaml, or another --model"
            )
        predictor = version.load_predictor()
    try:
        answers = ask_predictor(
            predictor, request.columns, request.params, version.registered.label
        )
    except ValueError as error:
        raise PlumblineError(str(error)) from None
    _refuse_not_finite(answers, version.registered.label)
    if not as_json:  # a table shows no output that was not asked for
        answers = {name: found for name, found in answers.items() if any(x != [] for x in found)}
    records = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
    if as_json:
        for record in records:
            print(dump_visibly(record))
        return
    cells = [_format_record(record, number, save) for number, record in enumerate(records)]
    _print_cells(next(iter(request.columns)), rows, cells, version.registered.label)


def _refuse_not_finite(answers: Mapping[str, Sequence[Any]], label: str) -> None:
    """PlumblineError for NaN and infinity, which the server answers with an error too."""
    for row, name in sorted(find_not_finite(answers).items()):
        raise PlumblineError(f"row {row}: {name}: {NOT_FINITE} ({label})")


def _parse_rows(signature: Signature, rows: list[str], params: dict[str, Any]) -> InferenceRequest:
    """Read the rows as the server does: values of the only required column, or JSON objects."""
    required = [field for field in signature.inputs if field.required]
    values: Any = rows
    try:
        if len(required) > 1 or required[0].type != "string":
            values = [strict.parse_json(row) for row in rows]
    except ValueError as error:
        raise ParamsError(f"a value: {error}") from None
    names = {field.name for field in signature.inputs}
    are_records = all(isinstance(value, dict) and value.keys() <= names for value in values)
    if len(required) == 1 and not are_records:
        values = {required[0].name: values}
    body = json.dumps({"inputs": values, "params": params}).encode()
    try:
        return parse_body(body, "application/json", signature, len(rows))
    except RequestError as error:
        known = ", ".join(field.name for field in signature.inputs)
        raise ParamsError(f"{error.message}; expected values or JSON objects of {known}") from None


def _print_cells(column: str, rows: list[str], cells: list[dict[str, str]], title: str) -> None:
    """Print a table with a line for each row; many outputs are printed one a line, row by row."""
    outputs = list(cells[0]) if cells else []
    if len(outputs) > MAX_COLUMNS:
        for row, named in zip(rows, cells, strict=True):
            table = Table("output", show_lines(row), title=title, title_justify="left")
            for name, cell in named.items():
                table.add_row(*map(show_lines, (name, cell)))
            out.print(table, markup=False)
        return
    table = Table(column, *outputs, title=title, title_justify="left")
    for row, named in zip(rows, cells, strict=True):
        table.add_row(*map(show_lines, (row, *named.values())))
    out.print(table, markup=False)


def _format_record(record: dict[str, Any], number: int, folder: Path | None) -> dict[str, str]:
    """Format an answer; texts of several lines are written to `folder`, and named by their path."""
    cells = {}
    for name, value in record.items():
        cells[name] = _format_cell(value)
        if not isinstance(value, str) or "\n" not in value.strip():
            continue
        if folder is None:
            cells[name] = f"{len(value.splitlines())} lines; --save FOLDER writes them"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        suffix = "svg" if value.startswith("<svg ") else "txt"
        path = folder / f"{name}-{number}.{suffix}"
        path.write_text(value, encoding="utf-8")
        cells[name] = str(path)
    return cells


def _format_cell(value: Any) -> str:
    is_long = isinstance(value, list) and len(value) > MAX_NUMBERS  # for a person to read
    if is_long and all(isinstance(number, int | float) for number in value):
        return f"{len(value)} numbers from {value[0]:.6g} to {value[-1]:.6g}"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(" ".join(map(_format_cell, item.values())) for item in value)
    return str(value)
