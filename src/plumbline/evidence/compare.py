"""Scores side by side on the same test examples: group by group, and model against model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plumbline.contract.params import Champion, Evaluation
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.statistics import intervals, power, seeds
from plumbline.statistics.intervals import Interval
from plumbline.statistics.parity import VariantParity, measure_parity
from plumbline.statistics.seeds import SeedSpread

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = "(none)"
MAX_GROUPS = 50  # of one slice column; the largest are kept


@dataclass(frozen=True)
class Slice:
    """The winner's score in one group of test rows, compared with the reference there."""

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
    p_adjusted: float  # one-sided p of H0: loss <= margin, for all groups (Holm 1979)


class MeasuredGain(NamedTuple):
    """By how much one model is better than another on the same rows, whichever way it counts."""

    mean: float
    interval: Interval


@dataclass(frozen=True)
class ChampionComparison:
    """The winner against the champion on the same rows."""

    # Positive where the winner is better, whichever way the metric counts. Of several seeds: that
    # of their mean.
    difference: float
    interval: Interval
    p_value: float | None  # McNemar's exact p, for 0/1 scores
    required: float  # what the whole interval of the difference must exceed
    won: bool
    shipped: Interval  # of the training that ships; with one seed the same interval
    seed_reach: float | None = None  # the part of the interval that seeds make, to each side


def measure_gain(
    ours: np.ndarray, theirs: np.ndarray, metric: Metric, confidence: float
) -> MeasuredGain:
    """Measure by how much the mean of `ours` is better than that of `theirs` [rows].

    ValueError where the scores are not finite, or not of the same rows.
    """
    mine, other = orient_scores(ours, theirs, metric)
    interval = intervals.compute_gain_interval(mine, other, metric.kind, confidence)
    return MeasuredGain(float(mine.mean() - other.mean()), interval)


def compare_slices(
    rows: "pd.DataFrame",
    ours: np.ndarray,
    reference: str,
    theirs: np.ndarray,
    metric: Metric,
    limits: Evaluation,
) -> list[Slice]:
    """Compare every group with enough rows with the model named `reference`.

    `rows` are the manifest's, in the order of the scores `ours` and `theirs` [rows].
    """
    groups = list(_find_groups(rows, limits))
    p_values = []
    for _, _, mask in groups:
        pair = orient_scores(ours[mask], theirs[mask], metric)
        p_values.append(power.compute_loss_p_value(*pair, limits.max_slice_loss, metric.kind))
    adjusted = power.adjust_p_values(p_values)
    slices = []
    for number, (column, value, mask) in enumerate(groups):
        gain = measure_gain(ours[mask], theirs[mask], metric, limits.confidence)
        own = intervals.compute_mean_interval(ours[mask], metric.kind, limits.confidence)
        entry = Slice(
            column=column,
            value=value,
            num_rows=int(mask.sum()),
            score=float(ours[mask].mean()),
            **own._asdict(),
            reference=reference,
            reference_score=float(theirs[mask].mean()),
            difference=gain.mean,
            difference_low=gain.interval.low,
            difference_high=gain.interval.high,
            p_adjusted=adjusted[number],
        )
        slices.append(entry)
    return slices


def compare_with_champion(
    ours: np.ndarray,
    theirs: np.ndarray,
    metric: Metric,
    rule: Champion,
    level: float,
    lag: float = 0.0,
    spread: SeedSpread | None = None,
) -> ChampionComparison:
    """Decide whether `ours` may follow `theirs` [rows], at a two-sided `level`.

    `lag` is by how much `theirs` are worse than the best champion so far.

    better: the whole interval is above the margin and, for 0/1 scores, McNemar's exact test agrees;
    not-worse: the whole interval, less the lag, is above minus the margin. Without the lag, many
    steps of less than the margin would walk down any distance.

    With the `spread` of the seeds of `ours` the difference is that of their mean, and its interval
    is of the seeds too: the champion counts as one more draw, so a lucky seed is no better model.
    The training that ships, `ours`, has to win by its own interval besides, since the other gates
    look at no other one.
    """
    difference, shipped = measure_gain(ours, theirs, metric, 1 - level)
    interval, seed_reach = shipped, None
    if spread is not None:
        gain = metric.sign * (spread.mean - float(theirs.mean()))
        seed_reach = seeds.compute_seed_reach(spread, 1 - level)
        interval = seeds.widen_interval(interval, difference, gain, seed_reach)
        difference = gain
    p_value = None
    if metric.kind == "binary":
        p_value = intervals.compute_mcnemar_p_value(ours, theirs)
    low = min(shipped.low, interval.low)
    if rule.policy == "not-worse":
        required = lag - rule.margin
        won = low >= required
    else:
        required = rule.margin
        is_significant = p_value is None or p_value <= level
        won = low > required and is_significant
    return ChampionComparison(difference, interval, p_value, required, won, shipped, seed_reach)


def compute_margin(baseline: float, share: float, metric: Metric) -> float:
    """Compute `share` of what is left to gain from a mean score `baseline` to a perfect one.

    So a share of 0.1 asks for 0.01 where the majority class has 90 % of the rows, and for 0.09
    where it has 10 %. ValueError where nothing is left, or a perfect score is not known.
    """
    if share == 0:
        return 0.0
    if metric.best is None:
        raise ValueError(
            f"the best possible {metric.name} is not known: set "
            "evaluation.min_gain_over_baseline to 0, which asks for any significant gain"
        )
    left = abs(metric.best - baseline)
    if left == 0:
        raise ValueError(f"a baseline has the best possible {metric.name}: nothing is left to gain")
    return share * left


def is_floor_reached(interval: Interval, metric: Metric, floor: float) -> bool:
    """Whether the worse end of the interval of a mean score reaches the floor."""
    return interval.low >= floor if metric.higher_is_better else interval.high <= floor


def orient_scores(
    ours: np.ndarray, theirs: np.ndarray, metric: Metric
) -> tuple[np.ndarray, np.ndarray]:
    """Return both as scores of which more is better."""
    return (ours, theirs) if metric.higher_is_better else (-ours, -theirs)


def compare_form(served: Scores, trained: Scores, metric: Metric) -> VariantParity:
    """Compare the form that is served with `fp32`, at the level of gates that disprove."""
    ours, theirs = served.per_example, trained.per_example
    pair = orient_scores(ours[metric.name], theirs[metric.name], metric)
    equal = ours["predicted"] == theirs["predicted"] if "predicted" in ours else None
    return measure_parity(*pair, equal, metric.kind, power.DISPROOF_CONFIDENCE)


def name_groups(values: "pd.Series[Any]") -> "pd.Series[str]":
    """Return the name of the group of each row, by its value in a column of the manifest."""
    return values.astype(object).where(values.notna(), NO_VALUE).astype(str)


def _find_groups(rows: "pd.DataFrame", limits: Evaluation) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield column, value and row mask of each large group, the largest first in each column."""
    for column in limits.slices:
        values = name_groups(rows[column])
        sizes = values.value_counts()
        large = [str(value) for value, size in sizes.items() if size >= limits.min_slice_rows]
        for value in large[:MAX_GROUPS]:
            yield column, value, (values == value).to_numpy()
