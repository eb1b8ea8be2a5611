"""Where the commands print."""

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from plumbline.process.visible_text import dump_visibly, show_line, show_lines

if TYPE_CHECKING:
    from plumbline.diagnostics.result import DiagnosticResult

WIDE = 1000  # characters: in a file or a pipe no table is narrowed to a screen
IS_ON_SCREEN = sys.stdout.isatty() or "COLUMNS" in os.environ
out = Console(highlight=False, soft_wrap=True, width=None if IS_ON_SCREEN else WIDE)


def print_plain(text: str) -> None:
    """Print `text` on one line: brackets in it are not markup, and it steers no terminal."""
    out.print(show_line(text), markup=False)


def print_lines(text: str) -> None:
    """Print `text`, which may have several lines, as `print_plain` does."""
    out.print(show_lines(text), markup=False)


def print_json(value: Any) -> None:
    """Print facts as JSON, for another program; what steers a terminal is escaped."""
    print(dump_visibly(value, indent=2))


def print_results(results: list["DiagnosticResult"], *, as_json: bool = False) -> None:
    """Print what `doctor` found; exit 1 if something is wrong."""
    if as_json:
        print_json([asdict(result) for result in results])
    for result in () if as_json else results:
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
