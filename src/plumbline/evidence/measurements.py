"""What was measured, and what follows from it before anything is judged: order, rank, winner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Evaluation, Params
from plumbline.contract.records import Bound, Candidate, Case, ExportDifference, Leak, Scores
from plumbline.contract.task import Columns, Metric, Task
from plumbline.evidence.choice import Choice, choose_winner
from plumbline.evidence.disagreement import Disagreement
from plumbline.evidence.gather import Subjects
from plumbline.evidence.samples import align_rows
from plumbline.evidence.seeds import compute_validation_score
from plumbline.evidence.variants import Variant
from plumbline.registry.package.rehearsal import Rehearsal

if TYPE_CHECKING:
    import pandas as pd

CHAMPION = "@champion"  # in predictions.parquet


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

    def list_candidates_with_controls(self) -> list[Candidate]:
        """Return the candidates, the winner first, each with its control's scores."""
        return [
            replace(candidate, control=self.controls.get(candidate.name))
            for candidate in self.candidates
        ]


def choose(
    measured: Sequence[Candidate], manifest: "pd.DataFrame", limits: Evaluation, task: Task[Params]
) -> Choice:
    """Choose the winner by the scores on validation, which must be in one order."""
    check_order(manifest, "validation", [candidate.validation for candidate in measured], task)
    validation = {
        candidate.name: candidate.validation.per_example[task.metric.name] for candidate in measured
    }
    ranking = [candidate.name for candidate in rank_candidates(measured, task.metric)]
    costs = None
    if task.metric.cost_unit:
        costs = {candidate.name: candidate.validation.metrics["cost"] for candidate in measured}
    return choose_winner(validation, ranking, task.metric, limits, costs)


def rank_candidates(candidates: Sequence[Candidate], metric: Metric) -> list[Candidate]:
    """Sort best first, by the validation split alone; of equal ones the smaller bundle is first.

    A candidate with several seeds is ranked by their mean.
    """

    def make_key(candidate: Candidate) -> tuple[float, int, str]:
        score = compute_validation_score(candidate, metric)
        return -metric.sign * score, candidate.num_bytes, candidate.name

    return sorted(candidates, key=make_key)


def name_others(
    winner: str,
    baselines: Mapping[str, Scores],
    controls: Mapping[str, Scores],
    variants: Sequence[Variant],
    champion: Scores | None,
) -> dict[str, Scores]:
    """Name all that was scored on the test split besides candidates, as predictions.parquet does.

    No candidate can have such a name, but for a baseline.
    """
    others = dict(baselines)
    others |= {layout.name_control(name): scores for name, scores in controls.items()}
    others |= {name_form(winner, variant.name): variant.test for variant in variants[1:]}
    if champion:
        others[CHAMPION] = champion
    return others


def name_form(candidate: str, form: str) -> str:
    """Return the name of a candidate in a form that is not served."""
    return f"{candidate}@{form}"


def check_order(
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
