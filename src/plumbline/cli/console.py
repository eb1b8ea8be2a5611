"""Where the commands print."""

from typing import TYPE_CHECKING

import typer
from rich.console import Console

from plumbline.contract.visible_text import show_line, show_lines

if TYPE_CHECKING:
    from plumbline.diagnostics.result import DiagnosticResult

out = Console(highlight=False, soft_wrap=True)


def print_plain(text: str) -> None:
    """Print `text` on one line: brackets in it are not markup, and it steers no terminal."""
    out.print(show_line(text), markup=False)


def print_lines(text: str) -> None:
    """Print `text`, which may have several lines, as `print_plain` does."""
    out.print(show_lines(text), markup=False)


def print_results(results: list["DiagnosticResult"]) -> None:
    """Print what `doctor` or `fsck` found; exit 1 if something is wrong."""
    for result in results:
        out.print(_mark(result), end=" ")
        print_plain(f"{result.what}: {result.message}")
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
