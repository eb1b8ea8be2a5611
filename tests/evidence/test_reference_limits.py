"""Limits that are laxer than the reference are listed, the shipped ones are not among them."""

from pathlib import Path
from typing import Any

import pytest

from plumbline import entrypoint
from plumbline.contract.params import Params
from plumbline.contract.task import Metric
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.gates.reference_limits import (
    REFERENCE_LIMITS,
    describe_laxer_limits,
    find_laxer_limits,
)
from plumbline.evidence.verdict import summarise_verdict
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

RECIPES = Path(__file__).parents[2] / "recipes"
ACCURACY = TASK.metric
LAXER = [
    ("evaluation.max_leakage.near", 0.4),  # 0.5 counts as switched off
    ("evaluation.max_test_changes", 0.49),
    ("evaluation.max_validation_gap", 0.2),
    ("evaluation.confidence", 0.6),
    ("evaluation.min_behaviour.minimum", 0.01),
    ("evaluation.min_slice_rows", 5000),
    ("control.max_rows", 10),
    ("validation.near_duplicate_similarity", 0.999),
    ("validation.max_null_share", 1.0),
    ("validation.max_label_noise_share", 1.0),
    ("validation.min_rows", 1),
    ("evaluation.min_slice_rows", 2),
    ("evaluation.budget.one_p95_ms", 1e12),
    ("evaluation.budget.batch_p95_ms", 1e12),
    ("evaluation.budget.rss_mb", 1e12),
    ("evaluation.budget.bundle_mb", 1e12),
]

# Truly laxer: no gain over a search with as many calls of the simulator is asked for.
KNOWN = {"filter_design": ["evaluation.min_gain_over_baseline"]}
# In units of the signal, a path, and names: of no limit.
OF_THE_DATA = {
    "validation.max_abs_signal",
    "validation.max_peak_error_hz",
    "validation.warnings",
}


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


@pytest.mark.parametrize(("key", "value"), LAXER)
def test_a_limit_just_short_of_switched_off_is_listed(key: str, value: float) -> None:
    limits = find_laxer_limits(change(**{key: value}), ACCURACY)
    assert list(limits) == [key]
    assert limits[key].startswith(f"{value:g}, reference at ")
    summary = summarise_verdict("linear", [], {}, limits)
    assert f"Laxer than the reference: {key} is {value:g}, reference at" in summary


@pytest.mark.parametrize("recipe", sorted(path.stem for path in RECIPES.glob("*.yaml")))
def test_shipped_limits_are_not_laxer(recipe: str) -> None:
    params = entrypoint.load_params(RECIPES / f"{recipe}.yaml")
    found = find_laxer_limits(params, entrypoint.load_task(params.task).metric)
    assert list(found) == KNOWN.get(recipe, [])


def test_where_nothing_is_laxer_nothing_is_said() -> None:
    assert describe_laxer_limits({}) == ""


def test_a_margin_is_laxer_where_the_champion_may_lose_it() -> None:
    """With the policy better it is what has to be gained: more is stricter."""
    key = "evaluation.champion"
    lax = find_laxer_limits(change(**{key: {"policy": "not-worse", "margin": 0.4}}), ACCURACY)
    assert list(lax) == ["evaluation.champion.margin"]
    for champion in ({"policy": "better", "margin": 0.4}, {"policy": "not-worse", "margin": 0.02}):
        assert find_laxer_limits(change(**{key: champion}), ACCURACY) == {}


def test_checks_that_block_in_the_reference_and_only_warn_here_are_named() -> None:
    warnings = ["nulls", "truncated", "conflicting_duplicates"]
    limits = find_laxer_limits(change(**{"validation.warnings": warnings}), ACCURACY)
    assert list(limits) == ["validation.warnings"]
    assert limits["validation.warnings"].startswith(
        "conflicting_duplicates, nulls; reference none of these: "
    )
    assert find_laxer_limits(change(**{"validation.warnings": []}), ACCURACY) == {}


def test_a_model_that_abstains_may_not_be_wrong_as_often_as_it_likes() -> None:
    selective = {"risk": 0.9, "min_coverage": 0.01}
    limits = find_laxer_limits(change(**{"evaluation.selective": selective}), ACCURACY)
    assert list(limits) == ["evaluation.selective.min_coverage", "evaluation.selective.risk"]


def test_no_share_of_validation_is_without_a_reference() -> None:
    """A new key of a shipped task must be compared, or be named here."""
    for path in RECIPES.glob("*.yaml"):
        keys = {f"validation.{key}" for key in load_yaml(path)["validation"]}
        listed = {limit.key for limit in REFERENCE_LIMITS}
        assert keys - listed <= OF_THE_DATA


def test_stricter_limits_are_not_listed() -> None:
    assert find_laxer_limits(change(**{"evaluation.confidence": 0.9999}), ACCURACY) == {}


def test_a_missing_limit_is_switched_off_and_not_laxer() -> None:
    assert "evaluation.max_calibration_error" in {limit.key for limit in REFERENCE_LIMITS}
    assert find_laxer_limits(change(**{"evaluation.max_calibration_error": None}), ACCURACY) == {}


IN_METRIC_UNIT = {
    "evaluation.max_detectable_difference": 2.0,
    "evaluation.max_slice_loss": 2.0,
    "evaluation.max_validation_gap": 2.0,
    "evaluation.parity.max_loss": 0.5,
}


@pytest.mark.parametrize(("key", "value"), IN_METRIC_UNIT.items())
def test_limits_in_the_metrics_unit_are_compared_where_it_is_a_share(
    key: str, value: float
) -> None:
    """For an error in units of the data, 2 may be strict."""
    error = Metric("mse", higher_is_better=False, kind="continuous")
    assert find_laxer_limits(change(**{key: value}), error) == {}
    share = Metric("macro_f1", higher_is_better=True, kind="continuous", perfect=1.0)
    assert list(find_laxer_limits(change(**{key: value}), share)) == [key]
    assert list(find_laxer_limits(change(**{key: value}), ACCURACY)) == [key]
