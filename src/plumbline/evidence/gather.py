"""What everybody answered to the same held-out examples, and what the gates are told of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.lineage import lineage
from plumbline.contract.params import Params, load_yaml, nearest
from plumbline.contract.task import Candidate, Scores, Task
from plumbline.evidence import champion, changes, compare, document, forms, gates, measure
from plumbline.evidence.champion import Champion
from plumbline.quality import runner
from plumbline.registry import promotion
from plumbline.registry.package import packaging
from plumbline.statistics import calibration, power
from plumbline.statistics.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answers:
    """Scores of all, each test example in the same order."""

    manifest: "pd.DataFrame"
    validation: Mapping[str, Any]  # reports/validation.json
    rows: "pd.DataFrame"  # the manifest's test rows, in that order
    ranked: Sequence[Candidate]  # best on validation first
    predictor: measure.Guarded  # the winner's
    forms: Sequence[forms.Form]  # of the winner, the one that is served first
    baselines: Mapping[str, Scores]
    controls: Mapping[str, Scores]
    champion: Champion | None
    theirs: Scores | None  # the champion's
    look: tuple[
        int, str, str
    ]  # which use of the test split this is, what is planned, what was at the first

    @property
    def winner(self) -> Candidate:
        """The candidate that did best on validation."""
        return self.ranked[0]


def collect(params: Params, task: Task) -> Answers:
    """Let candidates, baselines and the champion answer; PlumblineError names who cannot.

    This is one use of the test split, and the journal is told before anything is known of it.
    """
    manifest, validation = _manifest(params), _validation()
    holder = champion.find(params.registry.model, task)
    look = _look(params, task, manifest, holder)
    ranked = measure.rank(
        [measure.candidate(name, task) for name in params.candidates], task.metric
    )
    predictor = measure.guarded(ranked[0].name)
    kept = forms.measured(ranked[0], predictor, task)
    trivial = task.baselines(params, layout.EXAMPLES)
    baselines = {
        name: measure.scores(task, "test", predictor) for name, predictor in trivial.items()
    }
    controls = {
        name: measure.control(name).scores(task, "test") for name in params.control.candidates
    }
    theirs = None if holder is None else _of(holder).scores(task, "test")
    rows = document.aligned(manifest, "test", ranked[0].test)
    all_ = [
        *(c.test for c in ranked),
        *(form.test for form in kept),
        *baselines.values(),
        *controls.values(),
        *([theirs] if theirs else []),
    ]
    for scores in all_:
        if document.aligned(manifest, "test", scores)["id"].tolist() != rows["id"].tolist():
            raise PlumblineError(
                f"the task {task.name} scored the test examples in different orders"
            )
    return Answers(
        manifest,
        validation,
        rows,
        ranked,
        predictor,
        kept,
        baselines,
        controls,
        holder,
        theirs,
        look,
    )


def facts(params: Params, task: Task, answers: Answers) -> gates.Facts:
    """All that the gates look at."""
    metric, limits, winner = task.metric, params.evaluation, answers.winner
    scores = {c.name: c.test.per_example[metric.name] for c in answers.ranked}
    ours = scores[winner.name]
    trivial = {name: found.per_example[metric.name] for name, found in answers.baselines.items()}
    theirs = None if answers.theirs is None else answers.theirs.per_example[metric.name]
    reference = compare.best(trivial, metric) if theirs is None else ("the champion", theirs)
    rehearsal = packaging.rehearsed(layout.bundle(winner.name), layout.GOLDEN, task)
    look, plan, first_plan = answers.look
    alpha = power.spent(look, limits.planned_looks, 1 - limits.confidence)
    return gates.Facts(
        metric=metric,
        limits=limits,
        validation=answers.validation,
        manifest_digest=layout.digest(layout.MANIFEST),
        examples_digest=layout.digest(layout.EXAMPLES),
        suite=runner.digest(task.expectations(params, answers.manifest)),
        manifest=answers.manifest,
        leaks=task.leaks(params, layout.EXAMPLES),
        winner=ours,
        baselines=trivial,
        simple=None
        if winner.name == limits.simple_candidate
        else scores.get(limits.simple_candidate or ""),
        controls={name: found.per_example[metric.name] for name, found in answers.controls.items()},
        bound=task.bounds(params, layout.EXAMPLES, "test"),
        champion=theirs,
        level=power.best_of(alpha, len(answers.ranked)),
        look=look,
        plan=plan,
        first_plan=first_plan,
        slices=compare.slices(answers.rows, ours, *reference, metric, limits),
        calibration=_calibration(winner.test, metric.name, limits.confidence),
        behaviour=task.behaviour(params, layout.EXAMPLES, answers.predictor),
        cost={**winner.latency_ms, "num_bytes": winner.num_bytes, "rss_mb": rehearsal.rss_mb},
        candidate=winner.name,
        form=answers.forms[0].name,
        parity=forms.held(answers.forms[0], answers.forms, metric, limits.confidence),
        replay=rehearsal.problems,
    )


def since(task: Task, answers: Answers) -> document.Since | None:
    """Which examples flipped, and what changed in params, data and code since the champion was made."""
    holder, theirs = answers.champion, answers.theirs
    if holder is None or theirs is None:
        return None
    who = {
        "model": holder.model,
        "version": holder.version,
        "bundle": holder.bundle,
        "metrics": dict(theirs.metrics),
    }
    inputs = task.inputs(layout.EXAMPLES, "test")
    flips = changes.flips(
        answers.rows["id"].tolist(), inputs, answers.winner.test, theirs, task.metric
    )
    return document.Since(who, flips, _changes(holder, answers.manifest))


def _of(holder: Champion) -> measure.Guarded:
    remedy = f"`plumbline rollback {holder.model}` brings back the one before"
    return measure.Guarded(f"champion (version {holder.version})", remedy, lambda: holder.predictor)


def _manifest(params: Params) -> "pd.DataFrame":
    import pandas as pd

    try:
        manifest = pd.read_parquet(layout.MANIFEST)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise PlumblineError(
            f"{layout.MANIFEST}: cannot be read ({error}); run `dvc repro ingest`"
        ) from None
    known = [str(column) for column in manifest.columns]
    for column in params.evaluation.slices:
        if column not in known:
            hint = nearest(column, known) or f"; it has {', '.join(known)}"
            raise ParamsError(f"evaluation.slices: {layout.MANIFEST} has no column {column}{hint}")
    return manifest


def _validation() -> dict[str, Any]:
    try:
        found: dict[str, Any] = layout.read_json(layout.VALIDATION)
    except (OSError, ValueError) as error:
        raise PlumblineError(
            f"{layout.VALIDATION}: cannot be read ({error}); run `dvc repro validate`"
        ) from None
    return found


def _look(
    params: Params, task: Task, manifest: "pd.DataFrame", holder: Champion | None
) -> tuple[int, str, str]:
    """Which use of this test split this is, the plan of its uses, and the plan at the first.

    Everybody whose test score is shown is part of the question; the same asked again is no new use.
    """
    rows = manifest[manifest["split"] == "test"].astype(str)
    asked = [bundle.digest(layout.bundle(name)) for name in sorted(params.candidates)]
    asked += [
        holder.bundle if holder else promotion.NONE,
        task.name,
        *sorted(rows["id"] + " " + rows["label"]),
    ]
    split = _digest(sorted(rows["id"] + " " + rows["digest"]))
    plan = f"{params.evaluation.planned_looks} uses at {params.evaluation.confidence:g}"
    look, first_plan = promotion.look(params.registry.model, _digest(asked), split, plan)
    return look, plan, first_plan


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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
