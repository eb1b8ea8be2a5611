"""Scores side by side on the same test examples: group by group, and candidate against candidate."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import Candidate, Metric
from plumbline.evidence import intervals
from plumbline.params import Evaluation

if TYPE_CHECKING:
    import pandas as pd

MAX_GROUPS = 50  # of one slice column; the largest are kept


def slices(rows: "pd.DataFrame", values: np.ndarray, metric: Metric, limits: Evaluation) -> list[dict[str, Any]]:
    """The score of every group with enough rows; `rows` are the manifest's, aligned with `values` [rows]."""
    found = []
    for column in limits.slices:
        sizes = rows[column].value_counts()
        for value in [group for group, size in sizes.items() if size >= limits.min_slice_rows][:MAX_GROUPS]:
            inside = values[(rows[column] == value).to_numpy()]
            low, high = intervals.mean(inside, metric.kind, limits.confidence)
            found.append(
                {
                    "column": column,
                    "value": str(value),
                    "num_rows": int(inside.size),
                    "score": float(inside.mean()),
                    "low": low,
                    "high": high,
                }
            )
    return found


def comparisons(candidates: Sequence[Candidate], metric: Metric, confidence: float) -> list[dict[str, Any]]:
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
            row |= {"only_one": only_one, "only_other": only_other, "p_value": intervals.mcnemar(ours, theirs)}
        found.append(row)
    return found
