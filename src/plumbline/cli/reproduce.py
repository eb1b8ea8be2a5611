"""`plumbline reproduce`: make a registered version again and compare."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.terminal.console import explain_stop, out, print_json, print_plain
from plumbline.terminal.options import AsJson, ModelNameOrParams

if TYPE_CHECKING:
    from plumbline.diagnostics.reproduce.comparison import ComparisonRow

EXAMPLE = "plumbline reproduce ticket-router 2"


def reproduce_version(
    name: ModelNameOrParams = "",
    version: Annotated[
        str, typer.Argument(help="The version, such as 7.", show_default="the champion")
    ] = "",
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the clone in this folder.", show_default="the clone is removed"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a registered version again, from its commit in a fresh clone, and compare.

    Exit code 0 if data, weights and metrics are the same, else 1.
    """
    from plumbline.contract.loading import load_params
    from plumbline.diagnostics import reproduce

    model = name or load_params(layout.PARAMS).registry.model
    say = partial(typer.echo, err=True) if as_json else print_plain
    with explain_stop("reproduce: interrupted; it leaves nothing behind"):
        result = reproduce.reproduce(model, version or None, keep=keep, say=say)
    if as_json:
        print_json({"same": result.same, "rows": list(map(asdict, result.rows))})
        raise typer.Exit(int(not result.same))
    table = Table("what", "registered", "reproduced", "same?")
    for row in result.rows:
        table.add_row(row.what, row.registered, row.reproduced, _describe(row))
    out.print(table, markup=False)
    if not result.same:
        raise PlumblineError(result.summary)
    print_plain(result.summary)


def _describe(row: "ComparisonRow") -> str:
    if row.same:
        return "yes"
    return f"no: {row.note}" if row.note else "no"
