"""Second step of an evaluation: every subject answers the same held-out examples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.machine import describe_machine
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Task
from plumbline.contract.trainings import list_trainings, locate_curve
from plumbline.evidence.changes import find_flips
from plumbline.evidence.choice import Choice, build_candidate, choose, choose_shipped, put_first
from plumbline.evidence.forms import compare_export, measure_forms, measure_latency
from plumbline.evidence.gather import Subjects
from plumbline.evidence.predictors import Recording, guard_champion, open_bundle, score_split
from plumbline.evidence.recorded_answers import answer_golden_rows, build_reference, rehearse_winner
from plumbline.evidence.records import ChampionFacts, Measurements, RuntimeFacts
from plumbline.evidence.scores import CHAMPION, Key, ScoreTable, check_rows, name_answers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Exhibits:
    """What people and other programs look at, and no gate does."""

    candidates: Sequence[Candidate]  # with their tables and controls; the winner first
    other_metrics: Sequence[str]  # beside the one that decides, in the task's order
    inputs: Columns  # the predictor's columns of validation, in the order of the scores there
    golden: Mapping[str, Any]  # inputs, params and outputs that the packaged model must repeat
    reference: "pd.DataFrame"  # answers that drift is measured against
    flips: Mapping[str, Any] | None  # the validation examples that winner or champion alone has won
    machine: Mapping[str, Any]  # that measured


def measure(subjects: Subjects, task: Task[Params]) -> tuple[Measurements, Exhibits]:
    """Let every subject answer; PlumblineError names the one that cannot."""
    params = subjects.params
    announce("looks for leaks between the splits")
    leaks = tuple(task.expectations.find_leaks(params, layout.EXAMPLES))
    _, candidates, recording = measure_candidates(
        params, task, subjects.bundles, subjects.manifest, subjects.inputs
    )
    winner = candidates[0]
    digest = subjects.bundles[winner.bundle]
    predictor = open_bundle(winner.bundle, task, digest)
    announce(f"{winner.name} is the winner on validation; measures its forms and the baselines")
    forms, form_scores = measure_forms(winner, digest, predictor, subjects.inputs, task)
    scores = _list_candidate_scores(candidates) | form_scores | _score_references(subjects, task)
    inputs = task.data.read_inputs(layout.EXAMPLES, "validation")
    champion, flips = _measure_champion(subjects, winner, inputs, scores, task)
    on_test = [one for (_, _, split), one in scores.items() if split == "test"]
    test_rows = check_rows(subjects.manifest, "test", on_test)
    golden = answer_golden_rows(predictor, subjects.inputs, task)
    export = compare_export(winner.bundle, digest, predictor, subjects, task)
    rehearsal = rehearse_winner(winner, digest, predictor, golden, recording, task)
    announce("asks the behavioural tests")
    facts = RuntimeFacts(
        cost={one.name: {**one.latency_ms, "num_bytes": one.num_bytes} for one in candidates},
        forms=tuple(forms),
        rehearsal=asdict(rehearsal),
        answers=tuple(recording.problems),
        export=tuple(export),
        behaviour=tuple(task.scoring.check_behaviour(params, layout.EXAMPLES, predictor)),
    )
    bound = task.scoring.compute_bound(params, layout.EXAMPLES, "test")
    table = ScoreTable(task.metric, scores, bound, subjects.manifest)
    slices = params.evaluation.slices
    exhibits = Exhibits(
        candidates=[complete_candidate(one, scores) for one in candidates],
        other_metrics=[name for name in winner.test.metrics if name != task.metric.name],
        inputs=inputs,
        golden=golden,
        reference=build_reference(predictor, subjects.inputs, test_rows, slices, task),
        flips=flips,
        machine=describe_machine(),
    )
    data = replace(subjects.data, leaks=leaks)
    return Measurements(data, table, champion, facts), exhibits


def complete_candidate(candidate: Candidate, scores: Mapping[Key, Scores]) -> Candidate:
    """Add what figures show of a candidate, and no gate reads."""
    import pandas as pd

    control, history = scores.get(_name_control(candidate.name)), None
    curve = locate_curve(candidate.bundle)
    if curve.exists():
        history = pd.read_csv(curve)
        history = None if history.empty else history
    return replace(candidate, control=control, history=history)


def measure_candidates(
    params: Params,
    task: Task[Any],
    digests: Mapping[str, str],
    manifest: "pd.DataFrame",
    inputs: Columns | None = None,
) -> tuple[Choice, list[Candidate], Recording]:
    """Measure all candidates; return the choice, all with the winner first, and what that answered.

    `digests` are those of the bundles, `inputs` the columns of the test split. Without these the
    test split is not looked at.
    """
    measured, recordings = [], {}
    rest = "" if inputs is None else " and test, and measures its latency"
    for name in params.candidates:
        announce(f"scores {name} on validation{rest}")
        candidate, recordings[name] = _measure_candidate(name, params, task, digests, inputs)
        measured.append(candidate)
    check_rows(manifest, "validation", [one.validation for one in measured])
    choice = choose(measured, task.metric, params.evaluation)
    return choice, put_first(choice, measured), recordings[choice.winner]


def _measure_candidate(
    name: str, params: Params, task: Task[Any], digests: Mapping[str, str], inputs: Columns | None
) -> tuple[Candidate, Recording]:
    """Score every training of a candidate; measure latency and size of the one that ships.

    Also returns what the one that ships was asked and answered. PlumblineError names a candidate
    that cannot be scored; a bad score is not an error.
    """
    seeds, recordings = [], {}
    for seed, bundle_name in list_trainings(params, name).items():
        predictor = open_bundle(bundle_name, task, digests[bundle_name])
        recording = recordings[bundle_name] = Recording()
        validation = predictor.score_split(task, "validation", recording)
        test = Scores({}, {}) if inputs is None else predictor.score_split(task, "test", recording)
        seeds.append(SeedScores(seed, bundle_name, validation, test))
    shipped = choose_shipped(seeds, task.metric).bundle
    latency_ms = {}
    if inputs is not None:
        if shipped != bundle_name:
            predictor = open_bundle(shipped, task, digests[shipped])
        latency_ms = measure_latency(predictor, inputs)
    num_bytes = bundle.num_bytes(layout.locate_bundle(shipped))
    candidate = build_candidate(name, seeds, task.metric, latency_ms, num_bytes)
    return candidate, recordings[shipped]


def _score_references(subjects: Subjects, task: Task[Params]) -> dict[Key, Scores]:
    """Score the baselines, and what was trained on shuffled labels, on the test split."""
    params = subjects.params
    scores: dict[Key, Scores] = {}
    for name, baseline in task.scoring.build_baselines(params, layout.EXAMPLES).items():
        scores["baseline", name, "test"] = score_split(task, "test", baseline)
    for name in params.control.candidates:
        key = _name_control(name)
        opened = open_bundle(key[1], task, subjects.bundles[key[1]])
        scores[key] = opened.score_split(task, "test")
    return scores


def _name_control(candidate: str) -> Key:
    return "control", layout.name_control(candidate), "test"


def _list_candidate_scores(candidates: Sequence[Candidate]) -> dict[Key, Scores]:
    scores: dict[Key, Scores] = {}
    for candidate in candidates:
        scores["candidate", candidate.name, "validation"] = candidate.validation
        scores["candidate", candidate.name, "test"] = candidate.test
        for each in candidate.seeds:
            name = name_answers(candidate.name, f"seed{each.seed}")
            scores["seed", name, "validation"] = each.validation
            scores["seed", name, "test"] = each.test
    return scores


def _measure_champion(
    subjects: Subjects,
    winner: Candidate,
    inputs: Columns,
    scores: dict[Key, Scores],
    task: Task[Params],
) -> tuple[ChampionFacts | None, dict[str, Any] | None]:
    """Add the champion's scores of test; return what is known of it, and what it won and lost.

    Where it is the winner again, it has the winner's scores. Rows of the test split are not listed:
    who knows them can learn them by heart.
    """
    champion = subjects.champion
    if champion is None:
        return None, None
    is_winner = champion.bundle == subjects.bundles[winner.bundle]
    guarded = guard_champion(champion)
    if is_winner and not champion.renames:
        test, validation = winner.test, winner.validation
    else:
        announce("scores the champion")
        test = guarded.score_split(task, "test")
        validation = guarded.score_split(task, "validation")
    scores["champion", CHAMPION, "test"] = test
    facts = ChampionFacts(
        model=champion.model,
        version=champion.version,
        bundle=champion.bundle,
        metrics=test.metrics,
        lag=champion.lag,
        changes=champion.changes,
        is_winner=is_winner,
    )
    ids = subjects.manifest.loc[subjects.manifest["split"] == "validation", "id"].tolist()
    flips = find_flips(ids, inputs, winner.validation, validation, task.metric.row_metric)
    return facts, flips
