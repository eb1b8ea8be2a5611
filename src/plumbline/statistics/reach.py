"""Limits that no model can meet on a test split: said before anything is trained."""

from collections.abc import Iterator

import numpy as np

from plumbline.contract.params import Evaluation
from plumbline.contract.task import Metric
from plumbline.statistics import intervals, power


def find_unreachable_limits(
    limits: Evaluation, metric: Metric, num_rows: int, majority: float | None
) -> list[str]:
    """Say which of `limits` a perfect model would fail on a test split of `num_rows`.

    `majority` is the share of its largest class; None where answers are no classes.
    """
    if num_rows == 0:
        return []
    if metric.kind == "binary" and metric.higher_is_better:
        return list(_find_for_shares(limits, num_rows, majority))
    return list(_find_for_errors(limits, metric, num_rows))


def _find_for_shares(limits: Evaluation, num_rows: int, majority: float | None) -> Iterator[str]:
    perfect = np.ones(num_rows)
    least = intervals.compute_proportion_interval(num_rows, num_rows, limits.confidence).low
    if least < limits.floor:
        yield _describe("floor", limits.floor, num_rows, f"its interval begins at {least:.4f}")
    if majority is not None and majority < 1:
        baseline = (np.arange(num_rows) < round(majority * num_rows)).astype(float)
        gain = intervals.compute_gain_interval(perfect, baseline, "binary", limits.confidence).low
        share = limits.min_gain_over_baseline
        if gain < share * (1 - majority):
            reason = f"the interval of its gain begins at {gain:.4f}"
            yield _describe("min_gain_over_baseline", share, num_rows, reason)
    level = power.spend_level(1, limits.planned_looks, 1 - limits.confidence)
    try:
        power.compute_detectable_difference(perfect, perfect, "binary", level)
    except ValueError as error:
        yield f"evaluation: the gate power refuses every model: {error}"


def _find_for_errors(limits: Evaluation, metric: Metric, num_rows: int) -> Iterator[str]:
    if not metric.higher_is_better and limits.floor < 0:
        yield _describe("floor", limits.floor, num_rows, "its error is 0")
    if metric.kind == "continuous" and num_rows < power.MIN_ROWS:
        yield (
            f"evaluation: the gate power refuses every model: {num_rows} test rows, "
            f"continuous scores need {power.MIN_ROWS}"
        )


def _describe(key: str, limit: float, num_rows: int, reason: str) -> str:
    return (
        f"evaluation.{key} is {limit:g}, which no model can reach on {num_rows:,} test rows: of a "
        f"perfect one {reason}; lower it, or collect more test rows"
    )
