"""`plumbline doctor`: what is wrong here, and what to do next."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.terminal.console import out, print_json, print_plain
from plumbline.terminal.options import AsJson

if TYPE_CHECKING:
    from plumbline.diagnostics.result import DiagnosticResult

EXAMPLE = "plumbline doctor --full"


def run_doctor(
    full: Annotated[
        bool,
        typer.Option("--full", help="Also read every byte of outputs, DVC's cache and versions."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check what a run needs, and that dvc.lock, DVC's cache, registry and journal agree.

    Repairs nothing, and prints a remedy for each fault. Exit code 0 if all is well, else 1.
    """
    from plumbline.diagnostics import doctor

    results = doctor.examine(full=full)
    print_results(results, as_json=as_json)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def print_results(results: list["DiagnosticResult"], *, as_json: bool = False) -> None:
    """Print a line for each result, and its remedy below it."""
    if as_json:
        print_json(list(map(asdict, results)))
        return
    for result in results:
        out.print(_mark(result), end=" ")
        print_plain(f"{result.what}: {result.message}")
        if result.remedy:
            print_plain(f"       -> {result.remedy}")


def _mark(result: "DiagnosticResult") -> str:
    if not result.ok:
        return "[red]FAIL[/]"
    if result.remedy:
        return "[yellow]warn[/]"
    return "[green]ok[/]  "
