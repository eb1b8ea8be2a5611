"""Second step of an evaluation where only limits are others than in the last one: nothing is asked.

Of the champion everything is measured again if it is another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Task
from plumbline.contract.trainings import locate_curve
from plumbline.evidence.choice import choose, put_first
from plumbline.evidence.gather import Subjects
from plumbline.evidence.judge import read_candidate
from plumbline.evidence.kept import Kept
from plumbline.evidence.measure import Exhibits, measure_champion, read_history
from plumbline.evidence.predictors import open_bundle
from plumbline.evidence.records import ChampionFacts, Measurements, read_measurements
from plumbline.evidence.scores import CHAMPION, Key


def restore(subjects: Subjects, task: Task[Params]) -> tuple[Measurements, Exhibits] | None:
    """Return what the last evaluation measured, as `measure` does; None where it cannot be used.

    So it is where these limits choose another winner, whose forms were never measured.
    """
    kept, params = subjects.kept, subjects.params
    if kept is None:
        return None
    measured = read_measurements(kept.facts, task.metric, layout.MEASURED / layout.PREDICTIONS.name)
    candidates = [read_candidate(measured, params, name) for name in params.candidates]
    choice = choose(candidates, task.metric, params.evaluation)
    if choice.winner != kept.exhibits["winner"]:
        return None
    announce("takes what the last evaluation measured (`plumbline run --force` measures again)")
    scores = dict(measured.scores.scores)
    _add_tables(kept, scores)
    order = kept.exhibits["metrics"]
    candidates = [_complete(one, scores, order) for one in put_first(choice, candidates)]
    inputs = task.data.read_inputs(layout.EXAMPLES, "validation")
    champion, flips = _restore_champion(subjects, measured, candidates[0], inputs, scores, task)
    measured = replace(
        measured,
        data=subjects.data,
        scores=replace(measured.scores, scores=scores),
        champion=champion,
    )
    exhibits = Exhibits(
        candidates=candidates,
        inputs=inputs,
        golden=kept.exhibits["golden"],
        reference=pd.read_parquet(layout.MEASURED / layout.DRIFT_REFERENCE.name),
        flips=flips,
        machine=kept.exhibits["machine"],
    )
    return measured, exhibits


def _add_tables(kept: Kept, scores: Mapping[Key, Scores]) -> None:
    for number, (kind, name, split, title) in enumerate(kept.tables):
        key: Any = (kind, name, split)
        scores[key].tables[title] = pd.read_parquet(layout.MEASURED / f"{number}.parquet")


def _complete(
    candidate: Candidate, scores: Mapping[Key, Scores], order: Sequence[str]
) -> Candidate:
    """Add what pages show, and no gate reads; `order` is that of the metrics."""
    test = scores["candidate", candidate.name, "test"]
    ordered = {name: test.metrics[name] for name in order if name in test.metrics}
    return replace(
        candidate,
        validation=scores["candidate", candidate.name, "validation"],
        test=replace(test, metrics=ordered | dict(test.metrics)),
        history=read_history(locate_curve(candidate.bundle)),
        control=scores.get(("control", layout.name_control(candidate.name), "test")),
    )


def _restore_champion(
    subjects: Subjects,
    measured: Measurements,
    winner: Candidate,
    inputs: Columns,
    scores: dict[Key, Scores],
    task: Task[Params],
) -> tuple[ChampionFacts | None, Mapping[str, Any] | None]:
    """Return what `measure_champion` does; params and code of now are compared in any case."""
    kept, champion = subjects.kept, subjects.champion
    answers = champion and champion.describe_answers()
    if kept is None or champion is None or measured.champion is None or answers != kept.champion:
        scores.pop(("champion", CHAMPION, "test"), None)
        predictor = open_bundle(winner.bundle, task, subjects.bundles[winner.bundle])
        return measure_champion(subjects, winner, predictor, inputs, scores, task)
    facts = replace(
        measured.champion,
        model=champion.model,
        version=champion.version,
        lag=champion.lag,
        changes=champion.changes,
    )
    return facts, kept.exhibits["flips"]
