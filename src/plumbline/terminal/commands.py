"""Add a command to the command line: its panel on the help page, and its example."""

import inspect
import re
from collections.abc import Callable

import typer

PANELS = {  # of the help page; commands of the packages beside the engine too
    "Begin and run": ("init", "upgrade", "recipe", "pin", "tune", "run"),
    "Judge and decide": (
        "report", "promote", "rollback", "champion", "journal", "sign", "registry",
    ),
    "Ask a model": ("predict", "score", "serve", "consult", "grade"),
    "Watch": ("drift", "outcomes"),
    "Check and read": ("doctor", "reproduce", "selftest", "docs"),
}  # fmt: skip
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


def add_command(
    group: typer.Typer,
    name: str,
    command: Callable[..., None],
    example: str,
) -> None:
    """Add `command` to the panel of the help page that it belongs to."""
    panel = PANEL_OF.get(name)
    # A line of the source ends where a terminal's does not.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command) or "")
    epilog = f"Example:\n\n{example}"
    group.command(name, epilog=epilog, rich_help_panel=panel, help=text)(command)
