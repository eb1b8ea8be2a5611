"""Second step of an evaluation: every subject answers the same held-out examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.records import Bound, Candidate, Case, ExportDifference, Leak, Scores
from plumbline.contract.task import Columns, Metric, Predictor, Task
from plumbline.evidence.choice import Choice, choose_winner
from plumbline.evidence.disagreement import Disagreement, measure_disagreement
from plumbline.evidence.export_check import compare_export
from plumbline.evidence.gather import Subjects
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import (
    guard_champion,
    open_candidate,
    open_control,
    score_split,
)
from plumbline.evidence.recording import Recording, rehearse_winner, score_and_record
from plumbline.evidence.samples import (
    align_rows,
    answer_golden_rows,
    build_reference,
    collect_predictions,
)
from plumbline.evidence.variants import Variant, measure_variants
from plumbline.registry.package.rehearsal import Rehearsal

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measurements:
    """What was measured of the subjects. Scores of the test split are in one order for all."""

    subjects: Subjects
    metric: Metric
    candidates: Sequence[Candidate]  # the winner first, then the best on validation
    choice: Choice  # who won, and why
    variants: Sequence[Variant]  # the winner in each form, the served one first
    baselines: Mapping[str, Scores]
    controls: Mapping[str, Scores]
    champion: Scores | None
    champion_validation: Scores | None  # for what is shown row by row: never the test split
    disagreement: Disagreement | None  # of winner and champion; None without a champion
    test_rows: "pd.DataFrame"  # the manifest's rows of the test split, in the order of the scores
    golden: Mapping[str, Any]  # inputs, params and outputs that the packaged model must repeat
    reference: "pd.DataFrame"  # answers that drift is measured against
    predictions: "pd.DataFrame"
    validation_inputs: Columns  # of the predictor, in the order of the scores on validation
    answers: Sequence[str]  # what contradicts itself in the winner's answers
    export: Sequence[ExportDifference]  # of the winner's forms from its trained weights
    package: Rehearsal  # of the packaged winner, in a clean process
    leaks: Sequence[Leak]
    bound: Bound
    behaviour: Sequence[Case]

    @property
    def winner(self) -> Candidate:
        """The candidate that was chosen on validation."""
        return self.candidates[0]


def measure(subjects: Subjects, task: Task[Params]) -> Measurements:
    """Let every subject answer; PlumblineError names the one that cannot."""
    params = subjects.params
    measured, recordings = _measure_candidates(subjects, task)
    choice = _choose(subjects, measured, task)
    # A stable sort: the winner first, the others as on validation.
    ranked = rank_candidates(measured, task.metric)
    candidates = sorted(ranked, key=lambda candidate: candidate.name != choice.winner)
    winner = candidates[0]
    digest = subjects.candidates[winner.name]
    predictor = open_candidate(winner.name, task, digest)
    recording = recordings[winner.name]
    variants = measure_variants(winner, digest, predictor, subjects.inputs, task)
    baselines = {
        name: score_split(task, "test", baseline) for name, baseline in subjects.baselines.items()
    }
    controls = {
        name: open_control(name, task).score_split(task, "test") for name in subjects.controls
    }
    champion, champion_validation, disagreement = _measure_champion(
        subjects, winner, predictor, task
    )
    scores = [candidate.test for candidate in candidates]
    scores += [variant.test for variant in variants]
    scores += [*baselines.values(), *controls.values()]
    if champion:
        scores.append(champion)
    test_rows = _check_order(subjects.manifest, "test", scores, task)
    golden = answer_golden_rows(predictor, subjects.inputs, task)
    slices = params.evaluation.slices
    return Measurements(
        subjects=subjects,
        metric=task.metric,
        candidates=candidates,
        choice=choice,
        variants=variants,
        baselines=baselines,
        controls=controls,
        champion=champion,
        champion_validation=champion_validation,
        validation_inputs=task.data.read_inputs(layout.EXAMPLES, "validation"),
        disagreement=disagreement,
        test_rows=test_rows,
        golden=golden,
        reference=build_reference(predictor, subjects.inputs, test_rows, slices, task),
        predictions=collect_predictions(subjects.manifest, candidates, baselines, champion),
        answers=tuple(recording.problems),
        export=compare_export(winner.name, digest, subjects, task),
        package=rehearse_winner(winner, digest, predictor, golden, recording, task),
        leaks=task.expectations.find_leaks(params, layout.EXAMPLES),
        bound=task.scoring.compute_bound(params, layout.EXAMPLES, "test"),
        behaviour=task.scoring.check_behaviour(params, layout.EXAMPLES, predictor),
    )


def measure_candidate(
    name: str,
    inputs: Columns,
    task: Task[Any],
    digest: str | None = None,
    recording: Recording | None = None,
) -> Candidate:
    """Measure scores, latency and size of one candidate; `inputs` are the test split's columns.

    Where a digest is given, no other bundle is measured. What was answered is added to `recording`.
    PlumblineError names a candidate that cannot be scored; a bad score is not an error.
    """
    predictor = open_candidate(name, task, digest)
    recording = Recording() if recording is None else recording
    return Candidate(
        name=name,
        validation=score_and_record(predictor, "validation", recording, task),
        test=score_and_record(predictor, "test", recording, task),
        latency_ms=measure_latency(predictor, inputs),
        history=_read_history(name),
        num_bytes=bundle.num_bytes(layout.locate_bundle(name)),
    )


def rank_candidates(candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Sort best first, by the validation split alone; of equal ones the smaller bundle is first."""
    sign = -1 if metric.higher_is_better else 1

    def make_key(candidate: Candidate) -> tuple[float, int, str]:
        score = candidate.validation.metrics[metric.name]
        return sign * score, candidate.num_bytes, candidate.name

    return sorted(candidates, key=make_key)


def _measure_candidates(
    subjects: Subjects, task: Task[Params]
) -> tuple[list[Candidate], dict[str, Recording]]:
    """Measure every candidate, and record what it answered."""
    recordings = {name: Recording() for name in subjects.params.candidates}
    measured = []
    for name, recording in recordings.items():
        digest = subjects.candidates[name]
        measured.append(measure_candidate(name, subjects.inputs, task, digest, recording))
    return measured, recordings


def _measure_champion(
    subjects: Subjects, winner: Candidate, predictor: Predictor, task: Task[Params]
) -> tuple[Scores | None, Scores | None, Disagreement | None]:
    """Return the champion's scores of test and validation, and where it and the winner differ."""
    if subjects.champion is None:
        return None, None, None
    guarded = guard_champion(subjects.champion)
    test = guarded.score_split(task, "test")
    validation = guarded.score_split(task, "validation")
    disagreement = measure_disagreement((winner.test, test), (predictor, guarded), subjects.inputs)
    return test, validation, disagreement


def _choose(subjects: Subjects, measured: Sequence[Candidate], task: Task[Params]) -> Choice:
    """Choose the winner by the scores on validation, which must be in one order."""
    scores = [candidate.validation for candidate in measured]
    _check_order(subjects.manifest, "validation", scores, task)
    validation = {
        candidate.name: candidate.validation.per_example[task.metric.name] for candidate in measured
    }
    ranking = [candidate.name for candidate in rank_candidates(measured, task.metric)]
    costs = None
    if task.metric.cost_unit:
        costs = {candidate.name: candidate.validation.metrics["cost"] for candidate in measured}
    return choose_winner(validation, ranking, task.metric, subjects.params.evaluation, costs)


def _read_history(name: str) -> "pd.DataFrame | None":
    import pandas as pd

    path = layout.TRAINING / f"{name}.csv"
    if not path.exists():
        return None
    history = pd.read_csv(path)
    return None if history.empty else history


def _check_order(
    manifest: "pd.DataFrame", split: str, everyone: Sequence[Scores], task: Task[Params]
) -> "pd.DataFrame":
    """Return the manifest's rows of `split` in the one order of all scores."""
    rows = align_rows(manifest, split, everyone[0])
    ids = rows["id"].tolist()
    for scores in everyone[1:]:
        if align_rows(manifest, split, scores)["id"].tolist() != ids:
            raise PlumblineError(
                f"the task {task.name} scored the {split} examples in different orders"
            )
    return rows
