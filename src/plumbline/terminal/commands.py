"""Add a command to the command line: its panel on the help page, and its example."""

import functools
from collections.abc import Callable
from typing import Any

import typer

from plumbline.contract.leftovers import keep_system_temporaries

PANELS = {  # of the help page; commands of the packages beside the engine too
    "Begin and run": ("init", "upgrade", "recipe", "pin", "tune", "run", "submit"),
    "Judge and decide": (
        "report", "verdict", "promote", "adopt", "rollback", "champion", "journal", "sign",
        "registry",
    ),
    "Ask a model": ("predict", "score", "serve", "consult", "grade"),
    "Watch": ("drift", "due", "track"),
    "Check and read": ("doctor", "fsck", "reproduce", "selftest", "drill", "docs"),
}  # fmt: skip
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


def add_command(
    group: typer.Typer,
    name: str,
    command: Callable[..., None],
    example: str,
    *,
    hidden: bool = False,
    opens_versions: bool = False,
) -> None:
    """Add `command`; one that opens versions copies them to the system's /tmp while it runs."""
    runner = _clean_up_after(command) if opens_versions else command
    panel = PANEL_OF.get(name)
    add = group.command(name, epilog=f"Example:\n\n{example}", hidden=hidden, rich_help_panel=panel)
    add(runner)


def _clean_up_after(command: Callable[..., None]) -> Callable[..., None]:
    """What a kill leaves in the system's /tmp is removed by the next of these commands."""

    @functools.wraps(command)
    def run_command(*arguments: Any, **options: Any) -> None:
        with keep_system_temporaries():
            command(*arguments, **options)

    return run_command
