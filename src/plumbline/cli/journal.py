"""`plumbline journal`: every decision on a model."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from plumbline.process.visible_text import show_line
from plumbline.terminal.console import out
from plumbline.terminal.options import ModelName

if TYPE_CHECKING:
    from plumbline.registry.journal import Entry

EXAMPLE = "plumbline journal ticket-router --json"


def show_journal(
    name: ModelName,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object an entry, not a table.")
    ] = False,
) -> None:
    """Print every decision on NAME, oldest first, after the hash chain is verified."""
    from plumbline.registry import ledger, promotion

    entries = promotion.read_history(name)
    if as_json:
        for entry in entries:
            print(json.dumps(asdict(entry)))
        return
    table = Table("#", "at (UTC)", "who", "decision", "bundle", "evidence", "reason")
    for entry in entries:
        cells = (
            str(entry.number),
            entry.at.removesuffix("+00:00").replace("T", " "),
            entry.actor,
            _describe_decision(entry),
            entry.bundle[:12],
            entry.evidence[:12],
            ledger.describe_reason(entry),
        )
        table.add_row(*map(show_line, cells))
    for column in table.columns:
        column.overflow = "fold"  # of a record nothing is cut off
    out.print(table, markup=False)


def _describe_decision(entry: "Entry") -> str:
    if entry.moves:
        return f"{entry.action} {entry.previous} -> {entry.version}"
    return f"{entry.action} {entry.version}".rstrip()
