"""Limits that are looser than the reference are listed, the shipped ones are not among them."""

from pathlib import Path
from typing import Any

import pytest

from plumbline.contract import loading
from plumbline.contract.params import Params
from plumbline.contract.task import Metric
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.gates.limits import REFERENCE, find_loosened
from plumbline.evidence.judge import summarise_verdict
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.task import TASK as AGENTS

RECIPES = Path(__file__).parents[2] / "recipes"
ACCURACY = TASK.metric
BASELINE = 0.17
LOOSER = [
    ("evaluation.max_leakage.near", 0.4),
    ("evaluation.max_test_changes", 0.49),
    ("evaluation.confidence", 0.6),
    ("evaluation.min_behaviour.minimum", 0.01),
    ("evaluation.min_slice_rows", 5000),
    ("control.max_rows", 10),
    ("validation.max_null_share", 1.0),
    ("validation.min_rows", 1),
    ("evaluation.min_slice_rows", 2),
    ("evaluation.budget.one_p95_ms", 1e12),
]

CALIBRATION = "evaluation.max_calibration_error"  # null where answers have no probability
# Truly looser: in filter_design no gain over a search with as many calls of the simulator is asked.
KNOWN = {
    "banking77": ["evaluation.slices"],
    "filter_design": ["evaluation.min_gain_over_baseline", CALIBRATION],
    "imdb": ["evaluation.slices"],
    "retrieval": ["evaluation.simple_candidate", CALIBRATION],
    "signal_extraction": [CALIBRATION],
}
# In units of the signal, a path, and names: of no limit.
OF_THE_DATA = {"validation.max_abs_signal", "validation.warnings"}


def change(**changes: Any) -> Params:
    values: Any = load_yaml(RECIPES / "text_classification.yaml")
    for key, value in changes.items():
        *parents, last = key.split(".")
        inner = values
        for parent in parents:
            inner = inner[parent]
        assert last in inner
        inner[last] = value
    return TextParams.model_validate(values)


def find(metric: Metric = ACCURACY, baseline: float = BASELINE, **changes: Any) -> dict[str, str]:
    return find_loosened(change(**changes), metric, baseline)


@pytest.mark.parametrize(("key", "value"), LOOSER)
def test_a_limit_that_is_looser_is_listed_with_both_values(key: str, value: float) -> None:
    limits = find(**{key: value})
    assert list(limits) == [key]
    assert limits[key].startswith(f"{value:g}, reference at ")
    summary = summarise_verdict("linear", [], limits)
    assert f"Looser than the reference: {key} is {value:g}, reference at" in summary


@pytest.mark.parametrize("recipe", sorted(path.stem for path in RECIPES.glob("*.yaml")))
def test_shipped_limits_are_not_looser(recipe: str) -> None:
    params = loading.load_params(RECIPES / f"{recipe}.yaml")
    metric = loading.load_task(params.task).metric
    baseline = params.evaluation.floor - metric.sign * 0.1
    assert list(find_loosened(params, metric, baseline)) == KNOWN.get(recipe, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [("control.candidates", []), ("evaluation.slices", []), ("evaluation.simple_candidate", None)],
)
def test_what_gates_compare_with_may_not_be_left_out_unseen(key: str, value: Any) -> None:
    assert find(**{key: value}) == {key: "empty"}


def test_a_limit_that_is_null_is_listed() -> None:
    assert find(**{CALIBRATION: None}) == {CALIBRATION: "null, reference at most 0.1"}
    assert find_loosened(change(**{CALIBRATION: None}), ACCURACY, BASELINE, False) == {}


def test_answers_that_cost_something_have_a_limit() -> None:
    values: Any = load_yaml(RECIPES / "answer_consensus.yaml")
    values["evaluation"]["budget"]["cost"] = None
    params = ConsensusParams.model_validate(values)
    assert find_loosened(params, AGENTS.metric, BASELINE)["evaluation.budget.cost"] == "empty"


def test_a_floor_that_asks_for_no_more_than_the_gate_baselines_is_listed() -> None:
    key = "evaluation.floor"
    assert find(**{key: 0.2}) == {key: "0.2, and the gate baselines asks for 0.2530"}
    assert find(**{key: 0.3}) == {}


def test_a_margin_is_looser_where_the_champion_may_lose_it() -> None:
    """With the policy better it is what has to be gained: more is stricter."""
    key = "evaluation.champion"
    limits = find(**{key: {"policy": "not-worse", "margin": 0.4}})
    assert list(limits) == ["evaluation.champion.margin"]
    for champion in ({"policy": "better", "margin": 0.4}, {"policy": "not-worse", "margin": 0.02}):
        assert find(**{key: champion}) == {}


def test_checks_that_block_in_the_reference_and_only_warn_here_are_named() -> None:
    key = "validation.warnings"
    warnings = ["nulls", "truncated", "conflicting_duplicates"]
    limits = find(**{key: warnings})
    assert limits == {
        key: "conflicting_duplicates, nulls, where the reference rejects data that fail this"
    }
    assert find(**{key: []}) == {}


def test_a_model_that_abstains_may_not_be_wrong_as_often_as_it_likes() -> None:
    limits = find(**{"evaluation.selective": {"risk": 0.9, "min_coverage": 0.01}})
    assert sorted(limits) == ["evaluation.selective.min_coverage", "evaluation.selective.risk"]


def test_no_share_of_validation_is_without_a_reference() -> None:
    """A new key of a shipped task must be compared, or be named here."""
    reference = load_yaml(REFERENCE)
    listed = {*reference["at_least"], *reference["at_most"]}
    for path in RECIPES.glob("*.yaml"):
        keys = {f"validation.{key}" for key in load_yaml(path)["validation"]}
        assert keys - listed <= OF_THE_DATA


@pytest.mark.parametrize("key", load_yaml(REFERENCE)["margins"])
def test_margins_are_compared_as_they_are_where_the_metric_is_a_share(key: str) -> None:
    """For an error in units of the data, 2 may be strict."""
    if key == "evaluation.champion.margin":
        changes: dict[str, Any] = {"evaluation.champion": {"policy": "not-worse", "margin": 0.5}}
    else:
        changes = {key: 0.5}
    error = Metric("mse", higher_is_better=False, kind="continuous")
    assert key not in find(error, 7.0, **changes)
    assert key in find(error, 0.9, **changes)  # half of what is left is less
    share = Metric("macro_f1", higher_is_better=True, kind="continuous", perfect=1.0)
    assert list(find(share, **changes)) == [key]
    assert list(find(**changes)) == [key]
    without_end = Metric("likelihood", higher_is_better=True, kind="continuous")
    assert key not in find(without_end, **changes)
