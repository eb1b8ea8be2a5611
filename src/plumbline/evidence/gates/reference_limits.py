"""Which limits of params are laxer than the reference: allowed, and listed beside the verdict.

A limit just short of what counts as switched off would otherwise go unseen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from plumbline.contract.params import Params
from plumbline.contract.task import Metric


@dataclass(frozen=True)
class ReferenceLimit:
    """What a key of params should be at least or at most, and what happens beyond."""

    bound: Literal["at least", "at most"]
    value: float
    reason: str
    is_score: bool = False  # in the metric's unit; the value is one for accuracy


def _require_least(value: float, reason: str) -> ReferenceLimit:
    return ReferenceLimit("at least", value, reason)


def _require_most(value: float, reason: str) -> ReferenceLimit:
    return ReferenceLimit("at most", value, reason)


def _require_accuracy(value: float, reason: str) -> ReferenceLimit:
    """Require at most `value` where the metric is 1 for a right answer and 0 for a wrong one."""
    return ReferenceLimit("at most", value, reason, is_score=True)


# By the key in params.yaml; a key that a task does not have, or that is null, is not compared.
REFERENCE_LIMITS: Mapping[str, ReferenceLimit] = {
    "control.max_rows": _require_least(500, "of fewer rows a model learns little, leaks or not"),
    "evaluation.confidence": _require_least(0.95, "intervals are too narrow"),
    "evaluation.max_calibration_error": _require_most(0.1, "a stated 0.9 may mean 0.8"),
    "evaluation.max_detectable_difference": _require_accuracy(
        0.1, "a test split that sees less tells nothing of most challengers"
    ),
    "evaluation.max_leakage.exact": _require_most(0.01, "copies lift the score by their share"),
    "evaluation.max_leakage.group": _require_most(0.01, "a group's rows tell each other's label"),
    "evaluation.max_leakage.near": _require_most(0.05, "near copies lift the score likewise"),
    "evaluation.max_slice_loss": _require_accuracy(0.05, "a group may lose one answer in twenty"),
    "evaluation.max_test_changes": _require_most(0.1, "hard rows can be left out or relabelled"),
    "evaluation.max_validation_gap": _require_accuracy(
        0.02, "a test split that pleases goes unseen"
    ),
    "evaluation.min_behaviour.direction": _require_least(0.7, "telling phrases may be ignored"),
    "evaluation.min_behaviour.invariance": _require_least(0.7, "typing errors may change answers"),
    "evaluation.min_behaviour.minimum": _require_least(0.8, "typical texts may be mistaken"),
    "evaluation.min_gain_over_baseline": _require_least(0.05, "a model of nearly no use passes"),
    "evaluation.min_slice_rows": _require_most(100, "groups of fewer rows are not looked at"),
    "evaluation.parity.max_loss": _require_accuracy(0.02, "the served form may be worse"),
    "evaluation.parity.min_agreement": _require_least(0.95, "the served form answers otherwise"),
    "evaluation.planned_looks": _require_most(100, "so many looks wear a test split out"),
    "validation.near_duplicate_similarity": _require_most(0.95, "near copies are not recognised"),
}


def find_laxer_limits(params: Params, metric: Metric) -> dict[str, str]:
    """Return each key that is laxer than its reference, with both values and the reason.

    Limits in the unit of `metric` are compared only where that is accuracy: no reference fits, for
    example, a squared error.
    """
    values = params.model_dump(mode="json")
    laxer = {}
    for key, limit in REFERENCE_LIMITS.items():
        value = _look_up(values, key)
        if value is None or (limit.is_score and metric.kind != "binary"):
            continue
        is_laxer = value < limit.value if limit.bound == "at least" else value > limit.value
        if is_laxer:
            laxer[key] = f"{value:g}, reference {limit.bound} {limit.value:g}: {limit.reason}"
    return laxer


def describe_laxer_limits(limits: Mapping[str, str]) -> str:
    """Say in one sentence which limits are laxer than the reference; empty where none is."""
    if not limits:
        return ""
    shown = [f"{key} is {text.partition(':')[0]}" for key, text in limits.items()]
    return f"Laxer than the reference: {'; '.join(shown)}."


def _look_up(values: Mapping[str, Any], key: str) -> Any:
    value: Any = values
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
