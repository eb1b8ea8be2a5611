"""Limits that params have loosened, or left out: allowed, and listed beside the verdict.

A gate with such a limit passes or does not apply: whoever reads the verdict has to know.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plumbline.contract.dotted_keys import flatten
from plumbline.contract.params import Params
from plumbline.contract.task import Metric
from plumbline.contract.yaml_file import load_yaml

REFERENCE = Path(__file__).with_name("reference_limits.yaml")
HALF = 0.5  # of what the best baseline leaves to gain


def find_loosened(
    params: Params, metric: Metric, baseline: float, is_confident: bool = True
) -> dict[str, str]:
    """Return each key of params that is looser than its reference, with both values.

    `baseline` is the mean test score of the best one; `is_confident`: answers have a confidence.
    """
    reference = load_yaml(REFERENCE)
    values = dict(flatten(params.model_dump(mode="json")))
    if params.evaluation.champion.policy == "better":
        del values["evaluation.champion.margin"]  # it has to be gained: more is stricter
    if not metric.cost_unit:
        del values["evaluation.budget.cost"]
    if not is_confident:
        del values["evaluation.max_calibration_error"]
    if len(params.candidates) == 1:
        del values["evaluation.simple_candidate"]
    margins = _limit_margins(reference["margins"], metric, baseline)
    return {
        **{key: "empty" for key in reference["not_empty"] if values.get(key, key) in (None, [])},
        **dict(_list_beyond(values, reference["at_least"], "at least")),
        **dict(_list_beyond(values, reference["at_most"] | margins, "at most")),
        **_compare_floor(params, metric, baseline),
        **_compare_warnings(values.get("validation.warnings", []), reference["may_warn"]),
    }


def _list_beyond(
    values: Mapping[str, Any], limits: Mapping[str, float], bound: str
) -> Iterator[tuple[str, str]]:
    for key, limit in limits.items():
        value = values.get(key, limit)
        if value is None:
            yield key, f"null, reference {bound} {limit:g}"
        elif value < limit if bound == "at least" else value > limit:
            yield key, f"{value:g}, reference {bound} {limit:g}"


def _limit_margins(
    margins: Mapping[str, float], metric: Metric, baseline: float
) -> dict[str, float]:
    """Return the most that each margin may be; none where the best possible score is not known."""
    if metric.best is None:
        return {}
    half = HALF * abs(metric.best - baseline)
    if metric.higher_is_better and metric.best == 1:  # on the scale of accuracy
        return {key: min(limit, half) for key, limit in margins.items()}
    return dict.fromkeys(margins, half)


def _compare_floor(params: Params, metric: Metric, baseline: float) -> dict[str, str]:
    """Compare the floor with what the gate baselines asks for."""
    floor, asked = params.evaluation.floor, baseline
    if metric.best is not None:
        asked += params.evaluation.min_gain_over_baseline * (metric.best - baseline)
    if metric.sign * floor > metric.sign * asked:
        return {}
    return {"evaluation.floor": f"{floor:g}, and the gate baselines asks for {asked:.4f}"}


def _compare_warnings(warnings: list[str], may_warn: list[str]) -> dict[str, str]:
    names = ", ".join(sorted({*warnings}.difference(may_warn)))
    if not names:
        return {}
    return {"validation.warnings": f"{names}, where the reference rejects data that fail this"}
