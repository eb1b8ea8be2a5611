"""Where the commands print."""

from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from plumbline.diagnostics.result import DiagnosticResult

out = Console(highlight=False, soft_wrap=True)


def print_plain(text: str) -> None:
    """Print `text` as it is: brackets in it are not markup."""
    out.print(text, markup=False)


def print_results(results: list["DiagnosticResult"]) -> None:
    """Print what `doctor` or `fsck` found; exit 1 if something is wrong."""
    for result in results:
        out.print(f"{_mark(result)} {result.what}: ", end="")
        print_plain(result.message)
        if result.remedy:
            print_plain(f"       -> {result.remedy}")
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _mark(result: "DiagnosticResult") -> str:
    if not result.ok:
        return "[red]FAIL[/]"
    if result.remedy:
        return "[yellow]warn[/]"
    return "[green]ok[/]  "
