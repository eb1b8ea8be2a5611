"""Which limits of params are laxer than the reference: allowed, and listed beside the verdict.

A limit just short of what counts as switched off would otherwise go unseen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plumbline.contract.params import Params
from plumbline.contract.task import Metric


@dataclass(frozen=True)
class ReferenceLimit:
    """What a key of params should be at least or at most, and what happens beyond."""

    key: str
    bound: Literal["at least", "at most"]
    value: float
    reason: str
    is_score: bool = False  # in the metric's unit; the value is one for shares such as accuracy


def _require_at_least(key: str, value: float, reason: str) -> ReferenceLimit:
    return ReferenceLimit(key, "at least", value, reason)


def _require_at_most(key: str, value: float, reason: str) -> ReferenceLimit:
    return ReferenceLimit(key, "at most", value, reason)


def _require_at_most_of_score(key: str, value: float, reason: str) -> ReferenceLimit:
    """Require at most `value` where the metric is a share, of which 1 is perfect."""
    return ReferenceLimit(key, "at most", value, reason, is_score=True)


# A key that a task does not have, or that is null, is not compared. Limits of what costs time and
# memory, and of the data, are about twice what the recipes have.
REFERENCE_LIMITS: Sequence[ReferenceLimit] = (
    _require_at_least("control.max_rows", 500, "of fewer rows a model learns little, leaks or not"),
    _require_at_most("evaluation.budget.batch_p95_ms", 6000, "no model is too slow"),
    _require_at_most("evaluation.budget.bundle_mb", 1000, "no model is too large"),
    _require_at_most("evaluation.budget.one_p95_ms", 400, "no model is too slow"),
    _require_at_most("evaluation.budget.rss_mb", 4000, "no model is too large"),
    _require_at_most_of_score(
        "evaluation.champion.margin", 0.05, "a worse model may follow the champion"
    ),
    _require_at_least("evaluation.confidence", 0.95, "intervals are too narrow"),
    _require_at_most("evaluation.max_calibration_error", 0.1, "a stated 0.9 may mean 0.8"),
    _require_at_most_of_score(
        "evaluation.max_detectable_difference",
        0.1,
        "a test split that sees less tells nothing of most challengers",
    ),
    _require_at_most("evaluation.max_leakage.exact", 0.01, "copies lift the score by their share"),
    _require_at_most(
        "evaluation.max_leakage.group", 0.01, "a group's rows tell each other's label"
    ),
    _require_at_most("evaluation.max_leakage.near", 0.05, "near copies lift the score likewise"),
    _require_at_most_of_score(
        "evaluation.max_slice_loss", 0.05, "a group may lose one answer in twenty"
    ),
    _require_at_most("evaluation.max_test_changes", 0.1, "hard rows can be left out or relabelled"),
    _require_at_most_of_score(
        "evaluation.max_validation_gap", 0.02, "a test split that pleases goes unseen"
    ),
    _require_at_least("evaluation.min_behaviour.direction", 0.7, "telling texts may be ignored"),
    _require_at_least(
        "evaluation.min_behaviour.invariance", 0.7, "typing errors may change answers"
    ),
    _require_at_least("evaluation.min_behaviour.minimum", 0.8, "typical texts may be mistaken"),
    _require_at_least("evaluation.min_gain_over_baseline", 0.05, "a model of nearly no use passes"),
    _require_at_most("evaluation.min_slice_rows", 100, "groups of fewer rows are not looked at"),
    _require_at_least(
        "evaluation.min_slice_rows", 10, "hardly a loss of so small groups is proven"
    ),
    _require_at_most_of_score("evaluation.parity.max_loss", 0.02, "the served form may be worse"),
    _require_at_least("evaluation.parity.min_agreement", 0.95, "the served form answers otherwise"),
    _require_at_most("evaluation.planned_looks", 100, "so many looks wear a test split out"),
    _require_at_least("evaluation.selective.min_coverage", 0.2, "it may answer hardly a row"),
    _require_at_most("evaluation.selective.risk", 0.2, "what it answers may be wrong"),
    _require_at_most("validation.max_blank_share", 0.1, "texts may say nothing"),
    _require_at_most("validation.max_classes", 1000, "labels may be numbers of rows"),
    _require_at_most("validation.max_conflict_share", 0.05, "labels may contradict each other"),
    _require_at_most("validation.max_decoded_share", 0.1, "texts may be garbled"),
    _require_at_most("validation.max_duplicate_share", 0.4, "few rows may count as many"),
    _require_at_most("validation.max_fractional_label_share", 0.2, "labels may be measured values"),
    _require_at_most("validation.max_impossible", 0.5, "masks may be beyond any design"),
    _require_at_most("validation.max_label_noise_share", 0.3, "labels may be wrong"),
    _require_at_most("validation.max_label_word_share", 0.4, "texts may give the label away"),
    _require_at_most("validation.max_leakage_share", 0.01, "copies lift the score by their share"),
    _require_at_most("validation.max_missing_share", 0.2, "agents may have given no answer"),
    _require_at_most("validation.max_near_duplicate_share", 0.05, "near copies lift it likewise"),
    _require_at_most("validation.max_null_share", 0.2, "rows may be empty"),
    _require_at_most(
        "validation.max_personal_data_share", 0.05, "names and numbers may be learned"
    ),
    _require_at_most("validation.max_surprise", 10, "symbols may be drawn from another source"),
    _require_at_most("validation.max_truncated_share", 0.05, "texts may be cut"),
    _require_at_most(
        "validation.max_unknown_word_share", 0.2, "held-out texts may be of another kind"
    ),
    _require_at_least("validation.min_rows", 100, "so few rows show little"),
    _require_at_least("validation.min_rows_per_class", 5, "so few rows of a class teach nothing"),
    _require_at_most(
        "validation.near_duplicate_similarity", 0.95, "near copies are not recognised"
    ),
)

# Checks of text_classification that may warn instead of block, as in its recipe.
MAY_WARN = frozenset(
    {
        "label_noise",
        "label_words",
        "near_identical_labels",
        "personal_data",
        "truncated",
    }
)


def find_laxer_limits(params: Params, metric: Metric) -> dict[str, str]:
    """Return each key that is laxer than its reference, with both values and the reason.

    Limits in the unit of `metric` are compared only where that is a share such as accuracy: no
    reference fits, for example, a squared error.
    """
    values = params.model_dump(mode="json")
    if params.evaluation.champion.policy == "better":
        del values["evaluation"]["champion"]["margin"]  # it has to be gained: more is stricter
    laxer = {}
    for limit in REFERENCE_LIMITS:
        value = _look_up(values, limit.key)
        if value is None or (limit.is_score and not _is_share(metric)):
            continue
        is_laxer = value < limit.value if limit.bound == "at least" else value > limit.value
        if is_laxer:
            text = f"{value:g}, reference {limit.bound} {limit.value:g}: {limit.reason}"
            laxer[limit.key] = text
    only_warn = set(_look_up(values, "validation.warnings") or ()) - MAY_WARN
    if only_warn:
        names = ", ".join(sorted(only_warn))
        text = f"{names}; reference none of these: data that fail them are accepted"
        laxer["validation.warnings"] = text
    return laxer


def describe_laxer_limits(limits: Mapping[str, str]) -> str:
    """Say in one sentence which limits are laxer than the reference; empty where none is."""
    if not limits:
        return ""
    shown = [f"{key} is {text.partition(':')[0]}" for key, text in limits.items()]
    return f"Laxer than the reference: {'; '.join(shown)}."


def _is_share(metric: Metric) -> bool:
    """Whether the metric is accuracy or one on its scale: 1 is perfect, and more is better."""
    return metric.kind == "binary" or (metric.higher_is_better and metric.best == 1)


def _look_up(values: Mapping[str, Any], key: str) -> Any:
    value: Any = values
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
