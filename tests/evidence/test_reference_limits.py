"""Limits that are laxer than the reference are listed, the shipped ones are not among them."""

from pathlib import Path
from typing import Any

import pytest

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
LAXER = {
    "evaluation.max_leakage.near": 0.4,  # 0.5 counts as switched off
    "evaluation.max_test_changes": 0.49,
    "evaluation.max_validation_gap": 0.2,
    "evaluation.confidence": 0.6,
    "evaluation.min_behaviour.minimum": 0.01,
    "evaluation.min_slice_rows": 5000,
    "control.max_rows": 10,
    "validation.near_duplicate_similarity": 0.999,
}


def change(**changes: float) -> Params:
    values: Any = load_yaml(RECIPES / "text_classification.yaml")
    for key, value in changes.items():
        *parents, last = key.split(".")
        inner = values
        for parent in parents:
            inner = inner[parent]
        assert last in inner
        inner[last] = value
    return TextParams.model_validate(values)


@pytest.mark.parametrize(("key", "value"), LAXER.items())
def test_a_limit_just_short_of_switched_off_is_listed(key: str, value: float) -> None:
    limits = find_laxer_limits(change(**{key: value}), ACCURACY)
    assert list(limits) == [key]
    assert limits[key].startswith(f"{value:g}, reference at ")
    summary = summarise_verdict("linear", [], {}, limits)
    assert f"Laxer than the reference: {key} is {value:g}, reference at" in summary


def test_shipped_limits_are_not_laxer() -> None:
    assert find_laxer_limits(change(), ACCURACY) == {}
    assert describe_laxer_limits({}) == ""


def test_stricter_limits_are_not_listed() -> None:
    assert find_laxer_limits(change(**{"evaluation.confidence": 0.99}), ACCURACY) == {}


def test_a_missing_limit_is_switched_off_and_not_laxer() -> None:
    assert "evaluation.max_calibration_error" in REFERENCE_LIMITS
    assert find_laxer_limits(change(**{"evaluation.max_calibration_error": None}), ACCURACY) == {}


IN_METRIC_UNIT = {
    "evaluation.max_detectable_difference": 2.0,
    "evaluation.max_slice_loss": 2.0,
    "evaluation.max_validation_gap": 2.0,
    "evaluation.parity.max_loss": 0.5,
}


@pytest.mark.parametrize(("key", "value"), IN_METRIC_UNIT.items())
def test_limits_in_the_metrics_unit_are_compared_for_accuracy_alone(key: str, value: float) -> None:
    """For an error in units of the data, 2 may be strict."""
    error = Metric("mse", higher_is_better=False, kind="continuous")
    assert find_laxer_limits(change(**{key: value}), error) == {}
    assert list(find_laxer_limits(change(**{key: value}), ACCURACY)) == [key]
