"""Look at what is there: the machine, the registry, the last evaluation, whether a version can be made again."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from plumbline.cli.console import out, plain
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.entrypoint import load_params, load_task

if TYPE_CHECKING:
    from plumbline.diagnostics.finding import Finding

app = typer.Typer()


@app.command()
def doctor() -> None:
    """Look at what a run needs (packages, params, DVC, registry, disk, device) and say what to do about faults."""
    from plumbline.diagnostics import doctor

    _show(doctor.examine())


@app.command()
def fsck() -> None:
    """Hold git, dvc.lock, the DVC cache, MLflow, the registry and the journal against each other; say how to mend."""
    from plumbline.diagnostics import fsck

    _show(fsck.examine())


@app.command()
def report(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="All of it, as GitHub shows it.")
    ] = False,
) -> None:
    """Show the last evaluation: leaderboard, verdict, and where the whole report and the MLflow UI are."""
    from plumbline.reporting import report

    if markdown:
        return plain(report.markdown())
    report.show(out)
    done = layout.read_json(layout.REGISTRATION) if layout.REGISTRATION.exists() else {}
    if done.get("version") and done["evidence"] == layout.digest(layout.EVIDENCE):
        _show_next(done, layout.read_json(layout.EVIDENCE)["champion"])


@app.command()
def verdict(
    as_json: Annotated[bool, typer.Option("--json", help="The whole evidence.")] = False,
    workflow: Annotated[
        bool,
        typer.Option(
            "--github", help="Tell a workflow: outputs, summary; exit 0 for promote and keep."
        ),
    ] = False,
) -> None:
    """Print the verdict of the last evaluation and exit with it: promote 0, keep 10, refuse 20, error 1."""
    from plumbline.ci import workflow_report
    from plumbline.evidence import document
    from plumbline.evidence.verdict import EXIT_CODES

    if workflow:
        raise typer.Exit(workflow_report.tell(load_params(layout.PARAMS)))
    evidence = document.read(load_params(layout.PARAMS))
    if as_json:
        print(json.dumps(evidence, ensure_ascii=False, indent=2))
    else:
        out.print(f"{evidence['verdict']}: {evidence['summary']}", markup=False)
        for gate in evidence["gates"]:
            if gate["status"] == "fail":
                out.print(f"  {gate['name']}: {gate['reason']}", markup=False)
    raise typer.Exit(EXIT_CODES[evidence["verdict"]])


@app.command()
def reproduce(
    name: Annotated[
        str, typer.Argument(help="The registered model; that of params.yaml if left out.")
    ] = "",
    version: Annotated[str, typer.Argument(help="Its version; the champion if left out.")] = "",
    anyway: Annotated[
        bool, typer.Option(help="Also where the version was made from uncommitted changes.")
    ] = False,
    keep: Annotated[Path | None, typer.Option(help="Leave the clone in this folder.")] = None,
) -> None:
    """Make a registered version again from its commit, in a clone, and compare: exit 0 if it is the same, else 1."""
    from plumbline.diagnostics import reproduce

    model = name or load_params(layout.PARAMS).registry.model
    done = reproduce.reproduce(model, version or None, anyway=anyway, keep=keep, say=plain)
    table = Table("what", "registered", "reproduced", "same?")
    for row in done.rows:
        said = "yes" if row.same else f"no: {row.note}" if row.note else "no"
        table.add_row(row.what, row.registered, row.reproduced, said)
    out.print(table, markup=False)
    if not done.same:
        raise PlumblineError(done.summary)
    plain(done.summary)


def _show(findings: list["Finding"]) -> None:
    """Print what was found; exit 1 if something is wrong."""
    for finding in findings:
        mark = (
            "[red]FAIL[/]"
            if not finding.ok
            else "[yellow]warn[/]"
            if finding.remedy
            else "[green]ok[/]  "
        )
        out.print(f"{mark} {finding.what}: ", end="")
        out.print(finding.found, markup=False)
        if finding.remedy:
            out.print(f"       -> {finding.remedy}", markup=False)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _show_next(done: dict[str, Any], champion: dict[str, Any] | None) -> None:
    """What can be done with the version that was just registered."""
    task, program = load_task(load_params(layout.PARAMS).task), os.path.relpath(sys.argv[0])
    name, version = done["model"], done["version"]
    out.print(f"registered:      {name} version {version}; runs and registry: make ui")
    if champion and done["verdict"] == "promote":
        out.print(
            f"promote it:      {program} promote {name} {version} --expect {champion['version']}",
            markup=False,
        )
    asked = {name: values[0] for name, values in task.example.items()}
    only = next(iter(asked.values()))
    question = shlex.quote(
        only if isinstance(only, str) else json.dumps(only if len(asked) == 1 else asked)
    )
    which = f"--model models:/{name}/{version} " if champion else ""
    out.print(f"ask it:          {program} predict {which}{question}", markup=False)
