"""The commands `plumbline selftest` and `plumbline drill`."""

import typer

from plumbline.terminal.commands import add_command
from plumbline_selftest.cli import drill, selftest

app = typer.Typer()
add_command(app, "selftest", selftest.run_selftest, selftest.EXAMPLE)
add_command(app, "drill", drill.run_drill, drill.EXAMPLE)
