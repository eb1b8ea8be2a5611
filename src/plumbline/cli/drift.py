"""`plumbline drift`: compare today's rows with those that the champion was evaluated on."""

from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.ci.forge import announce_verdict, find_forge
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import AsJson, ChampionAddress

if TYPE_CHECKING:
    from plumbline.contract.params import Params

NOT_DUE = 10
EXAMPLE = "plumbline drift requests/ --record"


def check_drift(
    current: Annotated[
        str,
        typer.Argument(
            help="The folder or address of `plumbline serve --log-folder`, or a file that the "
            "champion answers now.",
            show_default="required, but for --due",
        ),
    ] = "",
    model: ChampionAddress = "",
    label: Annotated[
        str, typer.Option(help="The column of a file that holds the true answers.")
    ] = "label",
    due: Annotated[
        bool,
        typer.Option(
            "--due",
            help="Say whether training is due, drift.retrain.every_days or every_labels after the "
            "last one: exit code 0 due, 10 not due. With --record, write the request to the "
            "journal.",
        ),
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Check the requests logged since the last check, write the result to the "
            "journal, and decide over several checks together.",
        ),
    ] = False,
    workflow: Annotated[
        bool,
        typer.Option(
            "--ci",
            "--github",
            help="In CI: set output and summary; exit 0 whatever the verdict.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare today's rows with those that the champion was evaluated on.

    Exit codes: 0 stable, 30 drift (train again), 31 watch (drift that has not
    lasted long enough, or training was requested lately), 32 too few rows.

    See `plumbline docs drift`.
    """
    from plumbline.contract.loading import load_params
    from plumbline.drift import check, decision

    params = load_params(layout.PARAMS)
    if due:
        _check_due(params, record=record, workflow=workflow, as_json=as_json)
        return
    if not current:
        raise ParamsError("expected the rows to compare: a folder, an address or a file")
    address = model or f"models:/{params.registry.model}@champion"
    outcome = check.check_drift(address, current, params, label=label, record=record)
    if as_json:
        page = str(layout.DRIFT_PAGE)
        print_json({"verdict": outcome.verdict, "reason": outcome.reason, "report": page})
    else:
        print_plain(f"{outcome.verdict}: {outcome.reason}")
        print_plain(f"full report: {layout.DRIFT_PAGE}")
    if workflow:
        announce_verdict("drift", outcome.verdict, outcome.reason)
        return
    raise typer.Exit(decision.EXIT_CODES[outcome.verdict])


def _check_due(params: "Params", *, record: bool, workflow: bool, as_json: bool) -> None:
    """Say whether training is due by days or labels since the last one."""
    from plumbline.drift import training_due

    due = training_due.check_due(params, record=record)
    verdict = "due" if due.is_due else "not due"
    if as_json:
        print_json({"is_due": due.is_due, "reason": due.reason})
    else:
        print_plain(f"{verdict}: {due.reason}")
    if workflow:
        find_forge().set_outputs(due="yes" if due.is_due else "no")
        find_forge().add_summary(f"## Training is {verdict}\n\n{due.reason}")
    elif not due.is_due:
        raise typer.Exit(NOT_DUE)
