"""`plumbline verdict`: the verdict of the last evaluation, as an exit code."""

from typing import Annotated

import typer

from plumbline.contract import layout
from plumbline.terminal.console import print_json, print_plain

EXAMPLE = "plumbline verdict"


def show_verdict(
    as_json: Annotated[bool, typer.Option("--json", help="Print the full evidence.")] = False,
    workflow: Annotated[
        bool,
        typer.Option(
            "--github",
            help="In GitHub Actions: set outputs and summary; exit 0 for promote and keep.",
        ),
    ] = False,
) -> None:
    """Print the verdict of the last evaluation, derived again from its answers.

    Exit codes: 0 promote, 10 keep, 20 refuse, 1 error.
    """
    from plumbline.ci import workflow_report
    from plumbline.contract.loading import load_params, load_task
    from plumbline.contract.verdict import EXIT_CODES
    from plumbline.evidence import document
    from plumbline.evidence.gates.remedies import list_failures
    from plumbline.evidence.verify import verify_evidence
    from plumbline.evidence.withholding import withhold_figures

    params = load_params(layout.PARAMS)
    if workflow:
        raise typer.Exit(workflow_report.publish(params))
    evidence = document.read_evidence(params)
    verify_evidence(evidence, params, load_task(params.task))
    if as_json:
        print_json(evidence)
    else:
        print_plain(f"{evidence['verdict']}: {evidence['summary']}")
        for failure in list_failures(withhold_figures(evidence)):
            for line in failure.lines:
                print_plain(f"  {line}")
        for key, value in evidence.get("loosened", {}).items():
            print_plain(f"  looser than the reference: {key} is {value}")
    raise typer.Exit(EXIT_CODES[evidence["verdict"]])
