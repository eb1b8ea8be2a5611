"""What everybody answered to the same held-out examples, and what the gates are told of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline import bundle, champion, layout, packaging, promotion, quality
from plumbline.champion import Champion
from plumbline.contract import Candidate, Scores, Task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.evidence import calibration, changes, compare, document, gates, measure, power
from plumbline.evidence.intervals import Interval
from plumbline.lineage import lineage
from plumbline.params import Params, load_yaml, nearest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answers:
    """Scores of all, each test example in the same order."""

    manifest: "pd.DataFrame"
    rows: "pd.DataFrame"  # the manifest's test rows, in that order
    ranked: Sequence[Candidate]  # best on validation first
    predictor: measure.Guarded  # the winner's
    baselines: Mapping[str, Scores]
    champion: Champion | None
    theirs: Scores | None  # the champion's

    @property
    def winner(self) -> Candidate:
        """The candidate that did best on validation."""
        return self.ranked[0]


def collect(params: Params, task: Task) -> Answers:
    """Let candidates, baselines and the champion answer; PlumblineError names who cannot."""
    manifest = _manifest(params)
    ranked = measure.rank([measure.candidate(name, task) for name in params.candidates], task.metric)
    trivial = task.baselines(params, layout.EXAMPLES)
    baselines = {name: measure.scores(task, "test", predictor) for name, predictor in trivial.items()}
    holder = champion.find(params.registry.model, task)
    theirs = None if holder is None else _of(holder).scores(task, "test")
    rows = document.aligned(manifest, "test", ranked[0].test)
    for scores in [*(c.test for c in ranked), *baselines.values(), *([theirs] if theirs else [])]:
        if document.aligned(manifest, "test", scores)["id"].tolist() != rows["id"].tolist():
            raise PlumblineError(f"the task {task.name} scored the test examples in different orders")
    return Answers(manifest, rows, ranked, measure.guarded(ranked[0].name), baselines, holder, theirs)


def facts(params: Params, task: Task, answers: Answers) -> gates.Facts:
    """All that the gates look at; this is one use of the test split, and the journal is told."""
    metric, limits, winner = task.metric, params.evaluation, answers.winner
    scores = {c.name: c.test.per_example[metric.name] for c in answers.ranked}
    ours = scores[winner.name]
    trivial = {name: found.per_example[metric.name] for name, found in answers.baselines.items()}
    theirs = None if answers.theirs is None else answers.theirs.per_example[metric.name]
    controls = {name: measure.control(name).scores(task, "test") for name in params.control.candidates}
    reference = compare.best(trivial, metric) if theirs is None else ("the champion", theirs)
    rehearsal = packaging.rehearsed(layout.bundle(winner.name), layout.GOLDEN, task)
    look = _look(params, answers)
    alpha = power.spent(look, limits.planned_looks, 1 - limits.confidence)
    return gates.Facts(
        metric=metric,
        limits=limits,
        validation=layout.read_json(layout.VALIDATION),
        manifest_digest=layout.digest(layout.MANIFEST),
        suite=quality.digest(task.expectations(params, answers.manifest)),
        manifest=answers.manifest,
        leaks=task.leaks(params, layout.EXAMPLES),
        winner=ours,
        baselines=trivial,
        simple=None if winner.name == limits.simple_candidate else scores.get(limits.simple_candidate or ""),
        controls={name: found.per_example[metric.name] for name, found in controls.items()},
        bound=task.bounds(params, layout.EXAMPLES, "test"),
        champion=theirs,
        level=power.best_of(alpha, len(answers.ranked)),
        look=look,
        slices=compare.slices(answers.rows, ours, *reference, metric, limits),
        calibration=_calibration(winner.test, metric.name, limits.confidence),
        behaviour=task.behaviour(params, layout.EXAMPLES, answers.predictor),
        cost={**winner.latency_ms, "num_bytes": winner.num_bytes, "rss_mb": rehearsal.rss_mb},
        replay=rehearsal.problems,
    )


def since(task: Task, answers: Answers) -> document.Since | None:
    """Which examples flipped, and what changed in params, data and code since the champion was made."""
    holder, theirs = answers.champion, answers.theirs
    if holder is None or theirs is None:
        return None
    who = {"model": holder.model, "version": holder.version, "bundle": holder.bundle, "metrics": dict(theirs.metrics)}
    inputs = task.inputs(layout.EXAMPLES, "test")
    flips = changes.flips(answers.rows["id"].tolist(), inputs, answers.winner.test, theirs, task.metric)
    return document.Since(who, flips, _changes(holder, answers.manifest))


def _of(holder: Champion) -> measure.Guarded:
    remedy = f"`plumbline rollback {holder.model}` brings back the one before"
    return measure.Guarded(f"champion (version {holder.version})", remedy, lambda: holder.predictor)


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


def _look(params: Params, answers: Answers) -> int:
    """Which use of this test split this is; the same two models compared again are no new use."""
    rows, holder = answers.rows, answers.champion
    split = hashlib.sha256("\n".join(sorted(rows["id"].astype(str) + " " + rows["digest"].astype(str))).encode())
    asked = f"{bundle.digest(layout.bundle(answers.winner.name))} {holder.bundle if holder else promotion.NONE}"
    question = hashlib.sha256(asked.encode())
    return promotion.look(params.registry.model, question.hexdigest(), split.hexdigest())


def _calibration(test: Scores, metric: str, confidence: float) -> tuple[float, Interval] | None:
    """The calibration error and its interval, where the scores hold what it takes."""
    told, hits = test.per_example.get("confidence"), test.per_example[metric]
    if told is None:
        return None
    return calibration.expected_error(told, hits), calibration.interval(told, hits, confidence)


def _changes(holder: Champion, manifest: "pd.DataFrame") -> dict[str, Any] | None:
    if holder.params is None or holder.manifest is None:
        return None
    then, now = holder.tags, lineage()
    return {
        "params": changes.params(holder.params, load_yaml(layout.PARAMS)),
        "data": changes.data(holder.manifest, manifest),
        "code": changes.code(
            then.get("plumbline.git_commit", ""),
            now.get("git_commit", ""),
            old_dirty=then.get("plumbline.git_dirty") == "true",
            new_dirty=now.get("git_dirty") == "true",
        ),
    }
