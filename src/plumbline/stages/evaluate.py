"""evaluate: every candidate and the champion answer the same held-out examples; gates decide.

Five steps in a line: gather what is compared, measure it, write that down, judge what was written,
write the reports.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plumbline.contract import experiment, layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.records import Figure
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.evidence import document, tracked_metrics, validation_only
from plumbline.evidence.gather import gather
from plumbline.evidence.judge import judge
from plumbline.evidence.kept import keep, restore
from plumbline.evidence.measure import Exhibits, measure
from plumbline.evidence.records import store_measurements
from plumbline.evidence.withholding import is_withheld, withhold_figures
from plumbline.process.files import digest_path, publish, read_json, write_aside, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.process.visible_text import show_line
from plumbline.reporting import report
from plumbline.reporting.model_card import render_card
from plumbline.tracking.dataset_facts import describe_dataset
from plumbline.tracking.records import FINISHED, RunFacts

if TYPE_CHECKING:
    import pandas as pd


def evaluate(params: Params, task: Task[Params]) -> None:
    """Compare, judge, and write reports/; evidence.json is the last file.

    predictions.parquet is written before the verdict; golden.json, reference.parquet, plots/,
    metrics.json, report.html and model_card.md once it is known. A bad result is not an error.
    Where no verdict can be reached, evidence.json says `error` and why, and PlumblineError is
    raised. Inside an experiment of DVC only validation is scored.
    """
    experiment.set_marker(present=experiment.is_trial_run(params))
    _write_failure(params, task, "evaluation did not come to its end")
    if experiment.is_trial_run(params):
        validation_only.evaluate_validation(params, task)
        return
    try:
        announce("reads the data and what is compared")
        subjects = gather(params, task)
        measured, exhibits = restore(subjects, task) or measure(subjects, task)
        facts, recorded = store_measurements(measured)
        announce("asks the gates")
        judgement = judge(recorded, params)
        announce("draws the figures and writes reports/")
        _write_exhibits(exhibits)
        evidence = document.build_evidence(facts, judgement, subjects, exhibits, task)
        evidence = _write_reports(evidence, params, exhibits, task)
    except PlumblineError as error:
        _write_failure(params, task, str(error))
        raise
    try:
        keep(subjects, task, facts, measured, exhibits)
    except (OSError, ValueError, TypeError) as error:
        announce(f"the next one measures again: nothing is kept in {layout.MEASURED}: {error}")
    message = f"{evidence['verdict']}: {evidence['summary']} `plumbline report` shows more."
    print(show_line(f"evaluate: {message}"))  # noqa: T201 (the stage's result)


def describe_run(status: str, params: Params, task: Task[Params]) -> RunFacts:
    """Describe what the report shows, and no more: figures that are withheld are so here too."""
    facts = RunFacts()
    if status != FINISHED:
        return facts
    evidence = read_json(layout.EVIDENCE)
    if experiment.is_trial_run(params):
        facts.tags["plumbline.winner"] = evidence["validation"]["winner"]
        for name, scores in evidence["validation"]["candidates"].items():
            named = {f"candidate/{name}/validation/{key}": value for key, value in scores.items()}
            facts.metrics |= named
        return facts
    facts.params = {"evaluation": params.evaluation.model_dump(mode="json")}
    facts.datasets.append(describe_dataset(task.name, "evaluation"))
    facts.pass_metrics = tracked_metrics.list_metrics(evidence)
    facts.metrics = dict(facts.pass_metrics)
    for name, scores in tracked_metrics.list_candidate_metrics(evidence).items():
        facts.metrics |= {f"candidate/{name}/{key}": value for key, value in scores.items()}
    facts.tags = {"plumbline.verdict": evidence["verdict"], "plumbline.winner": evidence["winner"]}
    facts.pass_tags = facts.tags
    for path in (layout.REPORT, layout.MODEL_CARD, layout.METRICS, layout.PLOTS):
        facts.add_file(path)
    return facts


def _write_exhibits(exhibits: Exhibits) -> None:
    write_json(layout.GOLDEN, exhibits.golden)
    with write_aside(layout.DRIFT_REFERENCE) as path:
        exhibits.reference.to_parquet(path, index=False)


def _write_reports(
    evidence: dict[str, Any], params: Params, exhibits: Exhibits, task: Task[Params]
) -> dict[str, Any]:
    """Write metrics, plots and pages, evidence.json last, and return the evidence."""
    winner = exhibits.candidates[0]
    write_json(layout.METRICS, document.extract_metrics(withhold_figures(evidence)))
    figures = []
    tables = winner.validation.tables
    if not is_withheld(evidence):
        figures = task.scoring.draw_figures(params, list(exhibits.candidates))
        tables = winner.test.tables
    _write_plots(tables, figures)
    report.write_report(evidence, winner, figures, exhibits.inputs)
    with write_aside(layout.MODEL_CARD) as path:
        path.write_text(render_card(evidence), encoding="utf-8")
    pages = {name: digest_path(document.DIGESTED_FILES[name]) for name in document.PAGES}
    evidence = document.seal_evidence(evidence | {"digests": evidence["digests"] | pages})
    write_json(layout.EVIDENCE, evidence)
    return evidence


def _write_failure(params: Params, task: Task[Params], reason: str) -> None:
    write_json(layout.EVIDENCE, document.build_failure(params, task, reason))


def _write_plots(tables: Mapping[str, "pd.DataFrame"], figures: Sequence[Figure]) -> None:
    """Replace reports/plots/ by the winner's tables (CSV) and figures (SVG), for `dvc plots`."""
    with make_aside_folder(layout.PLOTS.parent, layout.PLOTS.name) as aside:
        for name, table in tables.items():
            table.to_csv(aside / f"{name}.csv", index=False)
        for figure in figures:
            (aside / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
        publish(aside, layout.PLOTS)
