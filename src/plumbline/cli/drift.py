"""`plumbline drift`: one look at today's rows, what it found, and whether to train again."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbline import bundle
from plumbline.ci import github
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Drift
from plumbline.drift import decision, tests, window
from plumbline.drift.decision import Outcome
from plumbline.drift.tests import Test
from plumbline.entrypoint import load_params
from plumbline.registry import model_versions, promotion
from plumbline.registry.reader.mirror import Copy, Mirror
from plumbline.reporting import html


def drift(
    current: Annotated[
        Path,
        typer.Argument(
            help="A folder that `plumbline serve --log-folder` writes, or a file to be scored now."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="models:/NAME@ALIAS; default: the champion of params.yaml.")
    ] = "",
    label: Annotated[
        str, typer.Option(help="The column of a file that holds the right answers.")
    ] = tests.LABEL,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Look at what was logged since the last look, and decide over several together.",
        ),
    ] = False,
    workflow: Annotated[
        bool,
        typer.Option(
            "--github", help="Tell a workflow: output, summary; exit 0 whatever was found."
        ),
    ] = False,
) -> None:
    """Hold today's rows against those that the champion was evaluated on; see docs/drift.md.

    Exit codes: 0 stable, 30 drift: train again, 31 drift that does not last yet or was acted on, 32 too few rows.
    """
    params = load_params(layout.PARAMS)
    copy = Mirror(model or f"models:/{params.registry.model}@champion").current()
    old = window.reference(model_versions.resolve(f"models:/{copy.name}/{copy.version}"))
    since = decision.last(promotion.history(copy.name), copy.version) if record else None
    new = window.current(current, copy, params.drift.max_rows, since)
    if label != tests.LABEL:
        if label not in new.rows:
            raise ParamsError(f"--label {label}: {current} has no such column")
        named = new.rows.drop(columns=tests.LABEL, errors="ignore").rename(
            columns={label: tests.LABEL}
        )
        new = window.Window(named, new.source)
    answer = window.TOLD + bundle.signature(copy.folder).outputs[0].name
    compared = tests.compare(old.rows, new.rows, answer, params.seed)
    judged = tests.judged(compared, params.drift.alpha, params.drift.min_effect)
    outcome = decision.of_window(judged, len(new.rows), params.drift)
    if record and outcome.verdict != "too few rows":
        outcome = _recorded(outcome, copy, new, params.drift)
    told = _told(copy, params.drift, judged, outcome, {"reference": old, "current": new})
    layout.write_json(layout.DRIFT, told)
    with layout.written(layout.DRIFT_PAGE) as aside:
        aside.write_text(html.render("drift.html", told), encoding="utf-8")
    typer.echo(f"{outcome.verdict}: {outcome.reason}\nthe whole story: {layout.DRIFT_PAGE}")
    if workflow:
        github.output(drift=outcome.verdict)
        github.summary(f"## Drift: {outcome.verdict}\n\n{html.code(outcome.reason)}")
        github.annotate("notice", "drift", f"{outcome.verdict}: {outcome.reason}")
        return
    raise typer.Exit(decision.EXIT_CODES[outcome.verdict])


def _recorded(found: Outcome, copy: Copy, new: window.Window, limits: Drift) -> Outcome:
    """Put what this window shows on record, and what follows from it and those before."""
    seen = decision.SEEN[found.verdict == "drift"]
    digest = hashlib.sha256(f"{copy.bundle} {new.digest}".encode()).hexdigest()
    promotion.note(copy.name, "drift", copy.version, copy.bundle, digest, f"{seen}: {found.reason}")
    history = promotion.history(copy.name)
    if ("retrain", digest) in [(entry.action, entry.evidence) for entry in history]:
        return Outcome("watch", f"{found.reason}; training was asked for on these very rows")
    outcome = decision.over_time(found, history, copy.version, limits, decision.utc())
    if outcome.verdict == "drift":
        promotion.note(copy.name, "retrain", copy.version, copy.bundle, digest, outcome.reason)
    return outcome


def _told(
    copy: Copy,
    limits: Drift,
    judged: list[Test],
    outcome: Outcome,
    windows: dict[str, window.Window],
) -> dict[str, Any]:
    """What reports/drift.json holds."""
    return {
        "model": {"name": copy.name, "version": copy.version, "bundle": copy.bundle},
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "rows": {
            name: {"source": found.source, "num_rows": len(found.rows)}
            for name, found in windows.items()
        },
        "tests": [asdict(test) for test in judged],
        "limits": limits.model_dump(mode="json"),
    }
