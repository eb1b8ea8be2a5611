"""evaluate: every candidate and the champion answer the same held-out examples; the gates say what may be promoted."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline import bundle, champion, layout, packaging, promotion, quality, report
from plumbline.champion import Champion
from plumbline.contract import Candidate, Figure, Predictor, Scores, Task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.evidence import calibration, changes, compare, document, gates, measure, power
from plumbline.lineage import lineage
from plumbline.params import Params, load_yaml, nearest

if TYPE_CHECKING:
    import pandas as pd

NUM_GOLDEN = 32


def evaluate(params: Params, task: Task) -> None:
    """Write reports/: metrics.json, plots/, predictions.parquet, golden.json, report.html and, last, evidence.json.

    A bad result is no error. Where no verdict can be reached, evidence.json says `error` and why.
    """
    try:
        evidence = _evaluated(params, task)
    except PlumblineError as error:
        layout.write_json(layout.EVIDENCE, document.failed(params, task, str(error)))
        raise
    layout.write_json(layout.EVIDENCE, evidence)
    print(f"evaluate: {evidence['verdict']}: {evidence['summary']} `plumbline report` shows more.")  # noqa: T201


def _evaluated(params: Params, task: Task) -> dict[str, Any]:
    manifest = _manifest(params)
    ranked = measure.rank([measure.candidate(name, task) for name in params.candidates], task.metric)
    winner, predictor = ranked[0], measure.guarded(ranked[0].name)
    trivial = task.baselines(params, layout.EXAMPLES)
    baselines = {name: measure.scores(task, "test", baseline) for name, baseline in trivial.items()}
    holder = champion.find(params.registry.model, task)
    theirs = _of_champion(holder, task)
    figures = task.figures(params, ranked)
    _write_golden(task, predictor)
    _write_plots(winner, figures)
    rows = document.aligned(manifest, "test", winner.test)
    _write_predictions(ranked, baselines, theirs, manifest)
    facts = _facts(params, task, manifest, rows, ranked, baselines, holder, theirs, predictor)
    told = _told(task, rows, winner, holder, theirs)
    trial = document.Trial(params, task, ranked, baselines, facts, gates.judge(facts), *told)
    evidence = document.build(trial)
    layout.write_json(layout.METRICS, document.metrics(evidence))
    report.write(evidence, winner, figures, task.inputs(layout.EXAMPLES, "test"))
    return evidence


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


def _of_champion(holder: Champion | None, task: Task) -> Scores | None:
    """The champion's scores on the very test examples that the candidates answered, in this process."""
    if holder is None:
        return None
    remedy = f"`plumbline rollback {holder.model}` brings back the one before"
    theirs = measure.Guarded(f"champion (version {holder.version})", remedy, lambda: holder.predictor)
    return theirs.scores(task, "test")


def _facts(
    params: Params,
    task: Task,
    manifest: "pd.DataFrame",
    rows: "pd.DataFrame",
    ranked: Sequence[Candidate],
    baselines: Mapping[str, Scores],
    holder: Champion | None,
    theirs: Scores | None,
    predictor: Predictor,
) -> gates.Facts:
    winner, metric, limits = ranked[0], task.metric, params.evaluation
    scores = {c.name: c.test.per_example[metric.name] for c in ranked}
    ours = scores[winner.name]
    trivial = {name: found.per_example[metric.name] for name, found in baselines.items()}
    rehearsal = packaging.rehearsed(layout.bundle(winner.name), layout.GOLDEN, task)
    if theirs is None:
        sign = 1 if metric.higher_is_better else -1
        reference = max(trivial, key=lambda name: sign * float(trivial[name].mean()))
        against = (reference, trivial[reference])
    else:
        against = ("the champion", theirs.per_example[metric.name])
    look = _look(params, rows, winner, holder)
    alpha = power.spent(look, limits.planned_looks, 1 - limits.confidence)
    return gates.Facts(
        metric=metric,
        limits=limits,
        validation=layout.read_json(layout.VALIDATION),
        manifest_digest=layout.digest(layout.MANIFEST),
        suite=quality.digest(task.expectations(params, manifest)),
        manifest=manifest,
        leaks=task.leaks(params, layout.EXAMPLES),
        winner=ours,
        baselines=trivial,
        simple=None if winner.name == limits.simple_candidate else scores.get(limits.simple_candidate or ""),
        controls={
            name: measure.control(name).scores(task, "test").per_example[metric.name]
            for name in params.control.candidates
        },
        bound=task.bounds(params, layout.EXAMPLES, "test"),
        champion=None if theirs is None else theirs.per_example[metric.name],
        level=power.best_of(alpha, len(ranked)),
        look=look,
        slices=compare.slices(rows, ours, *against, metric, limits),
        calibration=_calibration(winner.test, ours, limits.confidence),
        behaviour=task.behaviour(params, layout.EXAMPLES, predictor),
        cost={**winner.latency_ms, "num_bytes": winner.num_bytes, "rss_mb": rehearsal.rss_mb},
        replay=rehearsal.problems,
    )


def _look(params: Params, rows: "pd.DataFrame", winner: Candidate, holder: Champion | None) -> int:
    """Which use of this test split this is; the same two models compared again are no new use."""
    split = hashlib.sha256("\n".join(sorted(rows["id"].astype(str) + " " + rows["digest"].astype(str))).encode())
    asked = f"{bundle.digest(layout.bundle(winner.name))} {holder.bundle if holder else promotion.NONE}"
    question = hashlib.sha256(asked.encode())
    return promotion.look(params.registry.model, question.hexdigest(), split.hexdigest())


def _calibration(test: Scores, hits: np.ndarray, confidence: float) -> Any:
    """The calibration error and its interval, where the scores hold what it takes."""
    told = test.per_example.get("confidence")
    if told is None:
        return None
    return calibration.expected_error(told, hits), calibration.interval(told, hits, confidence)


def _told(
    task: Task, rows: "pd.DataFrame", winner: Candidate, holder: Champion | None, theirs: Scores | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, Any] | None]:
    """Who the champion is, which examples flipped, and what changed in params, data and code since it was made."""
    if holder is None or theirs is None:
        return None, None, None
    who = {"model": holder.model, "version": holder.version, "bundle": holder.bundle, "metrics": dict(theirs.metrics)}
    inputs = task.inputs(layout.EXAMPLES, "test")
    flips = changes.flips(rows["id"].tolist(), inputs, winner.test, theirs, task.metric)
    if holder.params is None or holder.manifest is None:
        return who, flips, None
    import pandas as pd

    then, now = holder.tags, lineage()
    return (
        who,
        flips,
        {
            "params": changes.params(holder.params, load_yaml(layout.PARAMS)),
            "data": changes.data(holder.manifest, pd.read_parquet(layout.MANIFEST)),
            "code": changes.code(
                then.get("plumbline.git_commit", ""),
                now.get("git_commit", ""),
                old_dirty=then.get("plumbline.git_dirty") == "true",
                new_dirty=now.get("git_dirty") == "true",
            ),
        },
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
    candidates: Sequence[Candidate],
    baselines: Mapping[str, Scores],
    theirs: Scores | None,
    manifest: "pd.DataFrame",
) -> None:
    """One row for each example and predictor, so that any later comparison can be made pair by pair."""
    import pandas as pd

    scored = [(c.name, split, getattr(c, split)) for c in candidates for split in ("validation", "test")]
    scored += [(name, "test", scores) for name, scores in baselines.items()]
    scored += [("@champion", "test", theirs)] if theirs else []
    parts = []
    for name, split, scores in scored:
        ids = document.aligned(manifest, split, scores)["id"].to_numpy()
        parts.append(pd.DataFrame({"candidate": name, "split": split} | scores.per_example | {"id": ids}))
    with layout.written(layout.PREDICTIONS) as aside:
        pd.concat(parts, ignore_index=True).to_parquet(aside, index=False)
