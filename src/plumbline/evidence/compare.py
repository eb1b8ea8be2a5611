"""Scores side by side on the same test examples: group by group, and candidate against candidate."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.params import Champion, Evaluation
from plumbline.contract.task import Candidate, Metric
from plumbline.statistics import intervals, power
from plumbline.statistics.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = "(none)"
MAX_GROUPS = 50  # of one slice column; the largest are kept


@dataclass(frozen=True)
class Slice:
    """The winner's score in one group of test rows, and how it stands against the reference there."""

    column: str
    value: str
    num_rows: int
    score: float
    low: float
    high: float
    reference: str
    reference_score: float
    difference: float  # positive where the winner is better, whichever way the metric counts
    difference_low: float
    difference_high: float
    p_value: float  # that the winner loses no more than the margin
    p_adjusted: float  # for all groups (Holm 1979)


def slices(
    rows: "pd.DataFrame",
    ours: np.ndarray,
    reference: str,
    theirs: np.ndarray,
    metric: Metric,
    limits: Evaluation,
) -> list[Slice]:
    """Every group with enough rows; `rows` are the manifest's, aligned with the scores `ours` and `theirs` [rows]."""
    groups = [
        (column, value, (names == value).to_numpy())
        for column in limits.slices
        for names in [rows[column].astype(object).where(rows[column].notna(), NO_VALUE).astype(str)]
        for value in _large_groups(names, limits.min_slice_rows)
    ]
    pairs = [oriented(ours[own], theirs[own], metric) for _, _, own in groups]
    p_values = [
        power.worse(mine, other, limits.max_slice_loss, metric.kind) for mine, other in pairs
    ]
    found = []
    for (column, value, own), (mine, other), p_value, p_adjusted in zip(
        groups, pairs, p_values, power.holm(p_values), strict=True
    ):
        low, high = intervals.mean(ours[own], metric.kind, limits.confidence)
        difference_low, difference_high = intervals.gain(
            mine, other, metric.kind, limits.confidence
        )
        found.append(
            Slice(
                column,
                value,
                int(own.sum()),
                float(ours[own].mean()),
                low,
                high,
                reference,
                float(theirs[own].mean()),
                float(mine.mean() - other.mean()),
                difference_low,
                difference_high,
                p_value,
                p_adjusted,
            )
        )
    return found


def best(scores: Mapping[str, np.ndarray], metric: Metric) -> tuple[str, np.ndarray]:
    """The name and the scores of whoever has the best mean."""
    sign = 1 if metric.higher_is_better else -1
    name = max(scores, key=lambda name: sign * float(scores[name].mean()))
    return name, scores[name]


def oriented(ours: np.ndarray, theirs: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Scores of which more is better."""
    if metric.higher_is_better:
        return ours, theirs
    return (1 - ours, 1 - theirs) if metric.kind == "binary" else (-ours, -theirs)


def _large_groups(values: "pd.Series", min_rows: int) -> list[str]:
    sizes = values.value_counts()
    return [str(group) for group, size in sizes.items() if size >= min_rows][:MAX_GROUPS]


@dataclass(frozen=True)
class Duel:
    """The winner against the champion on the same rows."""

    difference: float  # positive where the winner is better, whichever way the metric counts
    interval: Interval
    p_value: float | None  # McNemar's exact p, for 0/1 scores
    asked: float  # what the difference must surely exceed
    won: bool


def duel(
    ours: np.ndarray, theirs: np.ndarray, metric: Metric, rule: Champion, level: float
) -> Duel:
    """Whether `ours` may follow `theirs` [rows], at a two-sided `level`.

    better: the whole interval lies above the margin and, for 0/1 scores, McNemar's exact test agrees; not-worse: the
    whole interval lies above minus the margin.
    """
    mine, other = oriented(ours, theirs, metric)
    found = intervals.gain(mine, other, metric.kind, 1 - level)
    p_value = intervals.mcnemar(mine, other) if metric.kind == "binary" else None
    if rule.policy == "not-worse":
        asked, won = -rule.margin, found.low >= -rule.margin
    else:
        asked, won = rule.margin, found.low > rule.margin and (p_value is None or p_value <= level)
    return Duel(float(mine.mean() - other.mean()), found, p_value, asked, won)


def comparisons(
    candidates: Sequence[Candidate], metric: Metric, confidence: float
) -> list[dict[str, Any]]:
    """Every pair on the same test examples: the difference, its interval and, for 0/1 scores, McNemar's exact p."""
    found = []
    for one, other in itertools.combinations(candidates, 2):
        ours, theirs = one.test.per_example[metric.name], other.test.per_example[metric.name]
        low, high = intervals.gain(ours, theirs, metric.kind, confidence)
        row = {
            "one": one.name,
            "other": other.name,
            "difference": float(ours.mean() - theirs.mean()),
            "low": low,
            "high": high,
        }
        if metric.kind == "binary":
            only_one, only_other = intervals.discordant(ours, theirs)
            row |= {
                "only_one": only_one,
                "only_other": only_other,
                "p_value": intervals.mcnemar(ours, theirs),
            }
        found.append(row)
    return found
