"""evaluate: every candidate and the champion answer the same held-out examples; the gates say what may be promoted."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.task import Candidate, Figure, Predictor, Task
from plumbline.evidence import document, gates, gather
from plumbline.evidence.gather import Answers
from plumbline.reporting import report

NUM_GOLDEN, NUM_REFERENCE = 32, 2000


def evaluate(params: Params, task: Task) -> None:
    """Write reports/: metrics.json, plots/, predictions.parquet, golden.json, report.html and, last, evidence.json.

    A bad result is no error. Where no verdict can be reached, evidence.json says `error` and why.
    """
    layout.write_json(
        layout.EVIDENCE, document.failed(params, task, "evaluation did not come to its end")
    )
    try:
        evidence = _evaluated(params, task)
    except PlumblineError as error:
        layout.write_json(layout.EVIDENCE, document.failed(params, task, str(error)))
        raise
    layout.write_json(layout.EVIDENCE, evidence)
    print(f"evaluate: {evidence['verdict']}: {evidence['summary']} `plumbline report` shows more.")  # noqa: T201


def _evaluated(params: Params, task: Task) -> dict[str, Any]:
    answers = gather.collect(params, task)
    figures = task.figures(params, list(answers.ranked))
    _write_golden(task, answers.predictor)
    _write_reference(params, task, answers)
    _write_plots(answers.winner, figures)
    _write_predictions(answers)
    facts = gather.facts(params, task, answers)
    evidence = document.build(
        params,
        task,
        answers.ranked,
        answers.baselines,
        forms=answers.forms,
        facts=facts,
        judged=gates.judge(facts),
        since=gather.since(task, answers),
    )
    layout.write_json(layout.METRICS, document.metrics(evidence))
    report.write(evidence, answers.winner, figures, task.inputs(layout.EXAMPLES, "test"))
    return evidence


def _write_golden(task: Task, predictor: Predictor) -> None:
    """Rows from all over the test split with the winner's answers: the packaged model must repeat them."""
    columns = task.inputs(layout.EXAMPLES, "test")
    picked = _spread(len(next(iter(columns.values()))), NUM_GOLDEN)
    rows = {name: [values[i] for i in picked] for name, values in columns.items()}
    settings = {param.name: param.default for param in task.signature.params}
    outputs = predictor.predict(rows, **settings)
    layout.write_json(layout.GOLDEN, {"inputs": rows, "params": settings, "outputs": outputs})


def _write_reference(params: Params, task: Task, answers: Answers) -> None:
    """Rows from all over the test split as the request log would have them: drift is told by what differs from them."""
    import pandas as pd

    columns = task.inputs(layout.EXAMPLES, "test")
    picked = _spread(len(answers.rows), NUM_REFERENCE)
    given = {name: [values[i] for i in picked] for name, values in columns.items()}
    told = answers.predictor.predict(
        given, **{param.name: param.default for param in task.signature.params}
    )
    plain = [field.name for field in task.signature.outputs if isinstance(field.type, str)]
    known = (
        answers.rows[list(dict.fromkeys(["label", *params.evaluation.slices]))]
        .iloc[picked]
        .reset_index(drop=True)
    )
    table = pd.DataFrame(
        {f"input.{name}": values for name, values in given.items()}
        | {f"output.{name}": told[name] for name in plain}
    )
    with layout.written(layout.REFERENCE) as aside:
        table.join(known).to_parquet(aside, index=False)


def _spread(total: int, wanted: int) -> list[int]:
    """So many row numbers, evenly from all over."""
    return [int(i) for i in np.unique(np.linspace(0, total - 1, min(wanted, total)).astype(int))]


def _write_plots(winner: Candidate, figures: Sequence[Figure]) -> None:
    """reports/plots/: the winner's tables as CSV and the figures as SVG, for `dvc plots`, in place of the old."""
    layout.PLOTS.parent.mkdir(exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".plots.", dir=layout.PLOTS.parent))
    try:
        for name, table in winner.test.tables.items():
            table.to_csv(aside / f"{name}.csv", index=False)
        for figure in figures:
            (aside / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
        layout.publish(aside, layout.PLOTS)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write_predictions(answers: Answers) -> None:
    """One row for each example and predictor, so that any later comparison can be made pair by pair."""
    import pandas as pd

    scored = [
        (c.name, split, getattr(c, split))
        for c in answers.ranked
        for split in ("validation", "test")
    ]
    scored += [(name, "test", scores) for name, scores in answers.baselines.items()]
    scored += [("@champion", "test", answers.theirs)] if answers.theirs else []
    parts = []
    for name, split, scores in scored:
        ids = document.aligned(answers.manifest, split, scores)["id"].to_numpy()
        parts.append(
            pd.DataFrame({"candidate": name, "split": split} | scores.per_example | {"id": ids})
        )
    with layout.written(layout.PREDICTIONS) as aside:
        pd.concat(parts, ignore_index=True).to_parquet(aside, index=False)
