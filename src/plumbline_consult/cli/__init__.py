"""The commands `plumbline consult` and `plumbline grade`."""

import typer

from plumbline.terminal.commands import add_command
from plumbline_consult.cli import consult, grade

app = typer.Typer()
add_command(app, "consult", consult.consult, consult.EXAMPLE)
add_command(app, "grade", grade.grade, grade.EXAMPLE)
