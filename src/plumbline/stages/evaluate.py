"""evaluate: every candidate and the champion answer the same held-out examples; gates decide.

Four steps in a line: gather what is compared, measure it, judge that, write the reports.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.records import Figure
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.evidence.content import build_evidence
from plumbline.evidence.gather import gather
from plumbline.evidence.judge import Judgement, judge
from plumbline.evidence.measure import Measurements, measure
from plumbline.evidence.withholding import is_withheld, withhold_figures
from plumbline.reporting import report

if TYPE_CHECKING:
    import pandas as pd


def evaluate(params: Params, task: Task[Params]) -> None:
    """Compare, judge, and write reports/; evidence.json is the last file.

    The others are golden.json, reference.parquet, plots/, predictions.parquet, metrics.json and
    report.html; they are written after the verdict is known. A bad result is not an error. Where
    no verdict can be reached, evidence.json says `error` and why, and PlumblineError is raised.
    """
    _write_failure(params, task, "evaluation did not come to its end")
    try:
        subjects = gather(params, task)
        measurements = measure(subjects, task)
        judgement = judge(measurements, params)
        evidence = write(measurements, judgement, task)
    except PlumblineError as error:
        _write_failure(params, task, str(error))
        raise
    message = f"{evidence['verdict']}: {evidence['summary']} `plumbline report` shows more."
    print(f"evaluate: {message}")  # noqa: T201 (the stage's result)


def write(measurements: Measurements, judgement: Judgement, task: Task[Params]) -> dict[str, Any]:
    """Write reports/, evidence.json last, and return the evidence."""
    subjects = measurements.subjects
    winner = measurements.winner
    layout.write_json(layout.GOLDEN, measurements.golden)
    with layout.write_aside(layout.REFERENCE) as path:
        measurements.reference.to_parquet(path, index=False)
    with layout.write_aside(layout.PREDICTIONS) as path:
        measurements.predictions.to_parquet(path, index=False)
    evidence = build_evidence(measurements, judgement, task)
    layout.write_json(layout.METRICS, document.extract_metrics(withhold_figures(evidence)))
    figures = []
    tables = winner.validation.tables
    if not is_withheld(evidence):
        figures = task.scoring.draw_figures(subjects.params, list(measurements.candidates))
        tables = winner.test.tables
    _write_plots(tables, figures)
    report.write_report(evidence, winner, figures, measurements.validation_inputs)
    layout.write_json(layout.EVIDENCE, evidence)
    return evidence


def _write_failure(params: Params, task: Task[Params], reason: str) -> None:
    layout.write_json(layout.EVIDENCE, document.build_failure(params, task, reason))


def _write_plots(tables: Mapping[str, "pd.DataFrame"], figures: Sequence[Figure]) -> None:
    """Replace reports/plots/ by the winner's tables (CSV) and figures (SVG), for `dvc plots`."""
    layout.PLOTS.parent.mkdir(exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".plots.", dir=layout.PLOTS.parent))
    try:
        for name, table in tables.items():
            table.to_csv(aside / f"{name}.csv", index=False)
        for figure in figures:
            (aside / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
        layout.publish(aside, layout.PLOTS)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
