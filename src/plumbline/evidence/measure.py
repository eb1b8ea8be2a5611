"""Second step of an evaluation: every subject answers the same held-out examples."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task
from plumbline.contract.trainings import locate_curve
from plumbline.evidence.disagreement import Disagreement, measure_disagreement
from plumbline.evidence.export_check import compare_export
from plumbline.evidence.gather import Subjects
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.leaks import find_leaks
from plumbline.evidence.measurements import (
    Measurements,
    check_order,
    choose,
    name_others,
    rank_candidates,
)
from plumbline.evidence.predictors import (
    guard_champion,
    open_candidate,
    open_control,
    score_split,
)
from plumbline.evidence.recorded_answers import Recording, rehearse_winner, score_and_record
from plumbline.evidence.samples import (
    answer_golden_rows,
    build_reference,
    collect_predictions,
)
from plumbline.evidence.seeds import choose_shipped, score_seeds
from plumbline.evidence.variants import measure_variants

if TYPE_CHECKING:
    import pandas as pd


def measure(subjects: Subjects, task: Task[Params]) -> Measurements:
    """Let every subject answer; PlumblineError names the one that cannot."""
    params = subjects.params
    measured, recordings = _measure_candidates(subjects, task)
    choice = choose(measured, subjects.manifest, params.evaluation, task)
    # A stable sort: the winner first, the others as on validation.
    ranked = rank_candidates(measured, task.metric)
    candidates = sorted(ranked, key=lambda candidate: candidate.name != choice.winner)
    winner = candidates[0]
    digest = subjects.candidates[winner.bundle]
    predictor = open_candidate(winner.bundle, task, digest)
    recording = recordings[winner.name]
    announce(f"{winner.name} is the winner on validation; measures its forms and the baselines")
    variants = measure_variants(winner, digest, predictor, subjects.inputs, task)
    baselines = {
        name: score_split(task, "test", baseline) for name, baseline in subjects.baselines.items()
    }
    controls = {
        name: open_control(name, task, digest).score_split(task, "test")
        for name, digest in subjects.controls.items()
    }
    champion, champion_validation, disagreement = _measure_champion(
        subjects, winner, predictor, task
    )
    scores = [candidate.test for candidate in candidates]
    scores += [variant.test for variant in variants]
    scores += [*baselines.values(), *controls.values()]
    if champion:
        scores.append(champion)
    others = name_others(winner.name, baselines, controls, variants, champion)
    test_rows = check_order(subjects.manifest, "test", scores, task)
    golden = answer_golden_rows(predictor, subjects.inputs, task)
    slices = params.evaluation.slices
    export = compare_export(winner.bundle, digest, subjects, task)
    package = rehearse_winner(winner, digest, predictor, golden, recording, task)
    leaks = find_leaks(params, task)
    announce("asks the behavioural tests")
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
        predictions=collect_predictions(subjects.manifest, candidates, others),
        answers=tuple(recording.problems),
        export=export,
        package=package,
        leaks=leaks,
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
    """Measure scores, latency and size of the bundle `name`; `inputs` are the test split's columns.

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
        history=_read_history(locate_curve(name)),
        num_bytes=bundle.num_bytes(layout.locate_bundle(name)),
    )


def _measure_candidates(
    subjects: Subjects, task: Task[Params]
) -> tuple[list[Candidate], dict[str, Recording]]:
    """Measure every candidate, and record what it answered."""
    recordings = {name: Recording() for name in subjects.params.candidates}
    measured = []
    for name, recording in recordings.items():
        announce(f"scores {name} on validation and test, and measures its latency")
        seeds = score_seeds(subjects, name, task)
        shipped = choose_shipped(seeds, task.metric) if seeds else None
        bundle_name = shipped.bundle if shipped else name
        digest = subjects.candidates[bundle_name]
        own = measure_candidate(bundle_name, subjects.inputs, task, digest, recording)
        measured.append(replace(own, name=name, seeds=tuple(seeds), shipped=shipped))
    return measured, recordings


def _measure_champion(
    subjects: Subjects, winner: Candidate, predictor: Predictor, task: Task[Params]
) -> tuple[Scores | None, Scores | None, Disagreement | None]:
    """Return the champion's scores of test and validation, and where it and the winner differ."""
    if subjects.champion is None:
        return None, None, None
    announce("scores the champion")
    renames = subjects.changes["data"]["renames"] if subjects.changes else {}
    guarded = guard_champion(subjects.champion, renames)
    test = guarded.score_split(task, "test")
    validation = guarded.score_split(task, "validation")
    disagreement = measure_disagreement((winner.test, test), (predictor, guarded), subjects.inputs)
    return test, validation, disagreement


def _read_history(path: Path) -> "pd.DataFrame | None":
    import pandas as pd

    if not path.exists():
        return None
    history = pd.read_csv(path)
    return None if history.empty else history
