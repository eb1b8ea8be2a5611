"""`plumbline report`: the last evaluation, and what to do with its result."""

import json
import os
import shlex
import sys
from typing import Annotated, Any

import typer

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, explain_damage
from plumbline.process.files import digest_path, read_json, read_json_object, read_output
from plumbline.registry import local_files
from plumbline.terminal.console import out, print_json, print_lines, print_plain

EXAMPLE = "plumbline report --markdown"


def show_report(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the full report as Markdown, as on GitHub.")
    ] = False,
    verdict: Annotated[
        bool,
        typer.Option(
            "--verdict",
            help="Print the verdict alone. Exit codes: 0 promote, 10 keep, 20 refuse, 1 error.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the full evidence; exit codes of --verdict.")
    ] = False,
    workflow: Annotated[
        bool,
        typer.Option(
            "--ci",
            "--github",
            help="In CI: set outputs and summary; exit 0 for promote and keep.",
        ),
    ] = False,
) -> None:
    """Show the last evaluation: leaderboard, verdict, and the path of the full report.

    The verdict is derived again from the answers.
    """
    if workflow:
        from plumbline.ci import workflow_report
        from plumbline.contract.loading import load_params

        raise typer.Exit(workflow_report.publish(load_params(layout.PARAMS)))
    if verdict or as_json:
        raise typer.Exit(_show_verdict(as_json=as_json))
    from plumbline.reporting import summary

    doubt = _verify_evidence()
    if markdown:
        if doubt is not None:
            print_plain(f"> Not judged again: {doubt}")
            print_plain("")
        print_lines(summary.render_markdown())
        return
    if doubt is not None:
        out.print("[yellow]not judged again[/]: ", end="")
        print_plain(doubt)
    summary.print_report(out)
    done = {}
    if layout.REGISTRATION.exists():
        done = read_output(layout.REGISTRATION, "register")
    if done.get("version") and done.get("evidence") == digest_path(layout.EVIDENCE):
        _show_next_steps(done, read_json(layout.EVIDENCE)["champion"])


def _show_verdict(*, as_json: bool) -> int:
    """Print the verdict and why, or the evidence; return the exit code."""
    from plumbline.contract.loading import load_params, load_task
    from plumbline.contract.verdict import EXIT_CODES
    from plumbline.evidence import document
    from plumbline.evidence.gates.remedies import list_failures
    from plumbline.evidence.verify import verify_evidence
    from plumbline.evidence.withholding import withhold_figures

    params = load_params(layout.PARAMS)
    evidence = document.read_evidence(params)
    verify_evidence(evidence, params, load_task(params.task))
    if as_json:
        print_json(evidence)
        return EXIT_CODES[evidence["verdict"]]
    print_plain(f"{evidence['verdict']}: {evidence['summary']}")
    for failure in list_failures(withhold_figures(evidence)):
        for line in failure.lines:
            print_plain(f"  {line}")
    return EXIT_CODES[evidence["verdict"]]


def _verify_evidence() -> str | None:
    """Judge once more; return why that was not possible, None where the evidence follows.

    EvidenceError where another verdict follows. Evidence of another version, or of other files or
    params than those here, is shown as it is, with the reason.
    """
    from plumbline.contract.loading import load_params, load_task
    from plumbline.evidence import document
    from plumbline.evidence.verify import verify_evidence

    if not layout.EVIDENCE.exists():
        return None
    try:
        params = load_params(layout.PARAMS)
        evidence = document.read_evidence(params)
    except PlumblineError as error:
        return str(error)
    verify_evidence(evidence, params, load_task(params.task))
    return None


def _show_next_steps(done: dict[str, Any], champion: dict[str, Any] | None) -> None:
    """Print the commands for the version that was just registered."""
    program = os.path.relpath(sys.argv[0])
    name, version = done["model"], done["version"]
    local_files.require_local_models()
    role = ", the champion itself" if champion and champion["version"] == version else ""
    out.print(f"registered:  {name} version {version}{role}; runs and registry: make ui")
    if champion and done["verdict"] == "promote":
        command = f"{program} promote {name} {version} --expect {champion['version']}"
        print_plain(f"promote it:  {command}")
    model = f"--model models:/{name}/{version} " if champion else ""
    print_plain(f"try it:      {program} predict {model}{_name_example()}")


def _name_example() -> str:
    """Return the example as `predict` takes it: after -- where it looks like an option."""
    example = _quote_example()
    return f"-- {example}" if shlex.split(example)[0].startswith("-") else example


def _quote_example() -> str:
    """Quote an example, where possible a text of the user's data, as one shell argument."""
    from plumbline.contract.loading import load_params, load_task

    params = load_params(layout.PARAMS)
    inputs = {name: values[0] for name, values in load_task(params.task).example.items()}
    if len(inputs) > 1:
        return shlex.quote(json.dumps(inputs, ensure_ascii=False))
    ((name, value),) = inputs.items()
    is_own = getattr(getattr(params, "data", None), "source", "generated") != "generated"
    if isinstance(value, str) and is_own and layout.GOLDEN.exists():
        with explain_damage(layout.GOLDEN, "run `dvc repro evaluate`"):
            value = min(read_json_object(layout.GOLDEN)["inputs"][name], key=len)
    return shlex.quote(value if isinstance(value, str) else json.dumps(value))
