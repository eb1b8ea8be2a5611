"""Metrics that params may choose instead of accuracy: each is a mean over rows, as gates need it.

Shapes: N examples.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from plumbline.contract.records import Scores


def add_metric(scores: Scores, chosen: Mapping[str, Any]) -> Scores:
    """Return `scores` with the metric that `evaluation` of params chose, row by row and in all.

    `correct` says which answers are right, for the gates that ask that.
    """
    rows = scores.per_example
    name = chosen["metric"]
    if name == "balanced_accuracy":
        values = score_balanced(rows["actual"], rows["accuracy"])
    elif name == "expected_cost":
        values = score_costs(rows["actual"], rows["predicted"], chosen["costs"])
    else:
        values = rows[name]
    return replace(
        scores,
        per_example={**rows, name: values, "correct": rows["accuracy"]},
        metrics={**scores.metrics, name: float(values.mean())},
    )


def score_balanced(actual: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return scores [N] whose mean is the mean over classes of each one's accuracy.

    A wrong answer costs the row N / (K * rows of its class), with K classes among `actual`: 1 less
    that, and 1 for a right one. `hits` would have the same mean with these weights; but then a
    perfect model would seem to vary from row to row, and its interval to reach beyond 1.
    """
    counts = Counter(actual)
    weights = np.array([len(actual) / (len(counts) * counts[label]) for label in actual])
    scores: np.ndarray = 1 - weights * (1 - hits)
    return scores


def score_costs(
    actual: np.ndarray, predicted: np.ndarray, costs: Mapping[str, Mapping[str, float]]
) -> np.ndarray:
    """Return what each answer costs [N]: 0 where it is right, 1 for an error without a cost."""

    def find_cost(label: str, answer: str) -> float:
        return 0.0 if label == answer else costs.get(label, {}).get(answer, 1.0)

    return np.array([find_cost(*pair) for pair in zip(actual, predicted, strict=True)])
