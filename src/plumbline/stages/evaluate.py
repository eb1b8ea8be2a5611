"""evaluate: every candidate answers the same held-out examples, and the gates say what may be promoted."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline import layout, report
from plumbline.contract import Candidate, Figure, Predictor, Scores, Task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.evidence import document, gates, measure
from plumbline.params import Params, nearest

if TYPE_CHECKING:
    import pandas as pd

NUM_GOLDEN = 32


def evaluate(params: Params, task: Task) -> None:
    """Write reports/: metrics.json, plots/, predictions.parquet, golden.json, report.html and, last, evidence.json."""
    manifest = _manifest(params)
    ranked = measure.rank([measure.candidate(name, task) for name in params.candidates], task.metric)
    winner, predictor = ranked[0], measure.Guarded(ranked[0].name)
    baselines = {
        name: measure.scores(task, "test", baseline)
        for name, baseline in task.baselines(params, layout.EXAMPLES).items()
    }
    figures = task.figures(params, ranked)
    _write_golden(task, predictor)
    _write_plots(winner, figures)
    _write_predictions(ranked, baselines, manifest)
    evidence = document.build(
        params,
        task,
        ranked,
        baselines,
        judged=gates.judge(_facts(params, task, manifest, winner, baselines)),
        behaviour=task.behaviour(params, layout.EXAMPLES, predictor),
        rows=document.aligned(manifest, "test", winner.test),
    )
    layout.write_json(layout.METRICS, document.metrics(evidence))
    report.write(evidence, winner, figures, task.inputs(layout.EXAMPLES, "test"))
    layout.write_json(layout.EVIDENCE, evidence)
    print(f"evaluate: {evidence['verdict']}: {evidence['summary']} `plumbline report` shows more.")  # noqa: T201


def _manifest(params: Params) -> "pd.DataFrame":
    import pandas as pd

    try:
        manifest = pd.read_parquet(layout.MANIFEST)
    except OSError as error:
        raise PlumblineError(f"{layout.MANIFEST}: cannot be read ({error}); run `dvc repro ingest`") from None
    known = [str(column) for column in manifest.columns]
    for column in params.evaluation.slices:
        if column not in known:
            hint = nearest(column, known) or f"; it has {', '.join(known)}"
            raise ParamsError(f"evaluation.slices: {layout.MANIFEST} has no column {column}{hint}")
    return manifest


def _facts(
    params: Params, task: Task, manifest: "pd.DataFrame", winner: Candidate, baselines: Mapping[str, Scores]
) -> gates.Facts:
    return gates.Facts(
        metric=task.metric,
        limits=params.evaluation,
        validation=layout.read_json(layout.VALIDATION),
        manifest_digest=layout.digest(layout.MANIFEST),
        manifest=manifest,
        winner=winner.test.per_example[task.metric.name],
        baselines={name: scores.per_example[task.metric.name] for name, scores in baselines.items()},
        bound=task.bounds(params, layout.EXAMPLES, "test"),
    )


def _write_golden(task: Task, predictor: Predictor) -> None:
    """Rows from all over the test split with the winner's answers: the packaged model must repeat them."""
    columns = task.inputs(layout.EXAMPLES, "test")
    total = len(next(iter(columns.values())))
    picked = np.unique(np.linspace(0, total - 1, min(NUM_GOLDEN, total)).astype(int))
    rows = {name: [values[i] for i in picked] for name, values in columns.items()}
    settings = {param.name: param.default for param in task.signature.params}
    outputs = predictor.predict(rows, **settings)
    layout.write_json(layout.GOLDEN, {"inputs": rows, "params": settings, "outputs": outputs})


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


def _write_predictions(
    candidates: Sequence[Candidate], baselines: Mapping[str, Scores], manifest: "pd.DataFrame"
) -> None:
    """One row for each example and predictor, so that any later comparison can be made pair by pair."""
    import pandas as pd

    scored = [(c.name, split, getattr(c, split)) for c in candidates for split in ("validation", "test")]
    scored += [(name, "test", scores) for name, scores in baselines.items()]
    parts = []
    for name, split, scores in scored:
        ids = document.aligned(manifest, split, scores)["id"].to_numpy()
        parts.append(pd.DataFrame({"candidate": name, "split": split} | scores.per_example | {"id": ids}))
    with layout.written(layout.PREDICTIONS) as aside:
        pd.concat(parts, ignore_index=True).to_parquet(aside, index=False)
