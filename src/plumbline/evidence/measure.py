"""Second step of an evaluation: every subject answers the same held-out examples."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.records import Bound, Candidate, Case, Leak, Scores
from plumbline.contract.task import Columns, Metric, Task
from plumbline.evidence.gather import Subjects
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import (
    guard_champion,
    open_candidate,
    open_control,
    score_split,
)
from plumbline.evidence.samples import (
    align_rows,
    answer_golden_rows,
    build_reference,
    collect_predictions,
)
from plumbline.evidence.variants import Variant, measure_variants
from plumbline.registry.package.smoke_test import SmokeTest, verify_package_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measurements:
    """What was measured of the subjects. Scores of the test split are in one order for all."""

    subjects: Subjects
    metric: Metric
    candidates: Sequence[Candidate]  # best on validation first: that one is the winner
    variants: Sequence[Variant]  # the winner in each form, the served one first
    baselines: Mapping[str, Scores]
    controls: Mapping[str, Scores]
    champion: Scores | None
    test_rows: "pd.DataFrame"  # the manifest's rows of the test split, in the order of the scores
    golden: Mapping[str, Any]  # inputs, params and outputs that the packaged model must repeat
    reference: "pd.DataFrame"  # answers that drift is measured against
    predictions: "pd.DataFrame"
    package: SmokeTest  # of the packaged winner, in a clean process
    leaks: Sequence[Leak]
    bound: Bound
    behaviour: Sequence[Case]

    @property
    def winner(self) -> Candidate:
        """The candidate that did best on validation."""
        return self.candidates[0]


def measure(subjects: Subjects, task: Task[Params]) -> Measurements:
    """Let every subject answer; PlumblineError names the one that cannot."""
    params = subjects.params
    measured = [measure_candidate(name, subjects.inputs, task) for name in params.candidates]
    candidates = rank_candidates(measured, task.metric)
    winner = candidates[0]
    predictor = open_candidate(winner.name)
    variants = measure_variants(winner, predictor, subjects.inputs, task)
    baselines = {
        name: score_split(task, "test", baseline) for name, baseline in subjects.baselines.items()
    }
    controls = {name: open_control(name).score_split(task, "test") for name in subjects.controls}
    champion = None
    if subjects.champion:
        champion = guard_champion(subjects.champion).score_split(task, "test")
    scores = [candidate.test for candidate in candidates]
    scores += [variant.test for variant in variants]
    scores += [*baselines.values(), *controls.values()]
    test_rows = _check_order(subjects.manifest, [*scores, champion] if champion else scores, task)
    golden = answer_golden_rows(predictor, subjects.inputs, task)
    slices = params.evaluation.slices
    return Measurements(
        subjects=subjects,
        metric=task.metric,
        candidates=candidates,
        variants=variants,
        baselines=baselines,
        controls=controls,
        champion=champion,
        test_rows=test_rows,
        golden=golden,
        reference=build_reference(predictor, subjects.inputs, test_rows, slices, task),
        predictions=collect_predictions(subjects.manifest, candidates, baselines, champion),
        package=_test_package(winner.name, golden, task),
        leaks=task.expectations.find_leaks(params, layout.EXAMPLES),
        bound=task.scoring.compute_bound(params, layout.EXAMPLES, "test"),
        behaviour=task.scoring.check_behaviour(params, layout.EXAMPLES, predictor),
    )


def measure_candidate(name: str, inputs: Columns, task: Task[Any]) -> Candidate:
    """Measure scores, latency and size of one candidate; `inputs` are the test split's columns.

    PlumblineError names a candidate that cannot be scored; a bad score is not an error.
    """
    predictor = open_candidate(name)
    return Candidate(
        name=name,
        validation=predictor.score_split(task, "validation"),
        test=predictor.score_split(task, "test"),
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


def _read_history(name: str) -> "pd.DataFrame | None":
    import pandas as pd

    path = layout.TRAINING / f"{name}.csv"
    if not path.exists():
        return None
    history = pd.read_csv(path)
    return None if history.empty else history


def _check_order(
    manifest: "pd.DataFrame", everyone: Sequence[Scores], task: Task[Params]
) -> "pd.DataFrame":
    """Return the manifest's test rows in the one order of all scores."""
    rows = align_rows(manifest, "test", everyone[0])
    ids = rows["id"].tolist()
    for scores in everyone[1:]:
        if align_rows(manifest, "test", scores)["id"].tolist() != ids:
            raise PlumblineError(
                f"the task {task.name} scored the test examples in different orders"
            )
    return rows


def _test_package(candidate: str, golden: Mapping[str, Any], task: Task[Params]) -> SmokeTest:
    """Package a candidate as `register` would, and ask the package in a clean process."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private) / layout.GOLDEN.name
        layout.write_json(path, golden)
        return verify_package_of(layout.locate_bundle(candidate), path, task)
