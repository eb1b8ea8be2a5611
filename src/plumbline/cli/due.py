"""`plumbline due`: whether training is due by the calendar."""

from typing import Annotated

import typer

from plumbline.ci import github
from plumbline.contract import layout
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import AsJson

EXAMPLE = "plumbline due --record && make run"
NOT_DUE = 10


def check_due(
    record: Annotated[
        bool,
        typer.Option("--record", help="Where training is due, write the request to the journal."),
    ] = False,
    workflow: Annotated[
        bool,
        typer.Option("--github", help="In GitHub Actions: set output and summary; exit 0."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether training is due: drift.retrain.every_days after the last one.

    Exit codes: 0 due, 10 not due.
    """
    from plumbline.contract.loading import load_params
    from plumbline.drift import training_due

    due = training_due.check_due(load_params(layout.PARAMS), record=record)
    verdict = "due" if due.is_due else "not due"
    if as_json:
        print_json({"is_due": due.is_due, "reason": due.reason})
    else:
        print_plain(f"{verdict}: {due.reason}")
    if workflow:
        github.set_outputs(due="yes" if due.is_due else "no")
        github.add_summary(f"## Training is {verdict}\n\n{due.reason}")
        return
    if not due.is_due:
        raise typer.Exit(NOT_DUE)
