"""The command `plumbline selftest`."""

import typer

from plumbline.terminal.commands import add_command
from plumbline_selftest.cli import selftest

app = typer.Typer()
add_command(app, "selftest", selftest.run_selftest, selftest.EXAMPLE)
