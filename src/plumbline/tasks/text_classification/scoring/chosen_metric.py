"""Metrics that params may choose instead of accuracy: each is a mean over rows, as gates need it.

Shapes: N examples, K labels.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.statistics import influence
from plumbline.tasks.text_classification.data.label_sets import mark_labels

LabelSets = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class LabelAnswers:
    """The labels of rows, and what was answered; a row with one class has a set of one."""

    actual: LabelSets  # [N]
    given: LabelSets  # [N]
    names: Sequence[str]  # of the K labels that the predictor knows
    probabilities: np.ndarray  # [N, K]


def add_metric(scores: Scores, labels: LabelAnswers, chosen: Mapping[str, Any]) -> Scores:
    """Return `scores` with the metric that `evaluation` of params chose, row by row and in all.

    `correct` says which answers are right, for the gates that ask that.
    """
    rows = scores.per_example
    name = chosen["metric"]
    if name == "balanced_accuracy":
        values = score_balanced(rows["actual"], rows["accuracy"])
    elif name == "expected_cost":
        values = score_costs(rows["actual"], rows["predicted"], chosen["costs"])
    elif name == "macro_f1":
        values = score_f1(labels.actual, labels.given)
    elif name == "average_precision":
        values = score_ranking(labels)
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


def score_f1(actual: LabelSets, given: LabelSets) -> np.ndarray:
    """Return values [N] whose mean is macro-F1, the mean F1 of the labels that rows have."""
    names = list_labels(actual)
    pairs = zip(mark_labels(actual, names).T, mark_labels(given, names).T, strict=True)
    return _average(influence.compute_f1_values(*pair) for pair in pairs)


def score_ranking(labels: LabelAnswers) -> np.ndarray:
    """Return values [N] whose mean is the mean average precision of the labels that rows have.

    One that the predictor does not know has a score of 0 everywhere.
    """
    names = list_labels(labels.actual)
    columns = dict(zip(labels.names, labels.probabilities.T, strict=True))
    unknown = np.zeros(len(labels.actual))
    truths = zip(names, mark_labels(labels.actual, names).T, strict=True)
    return _average(
        influence.compute_average_precision_values(truth, columns.get(name, unknown))
        for name, truth in truths
    )


def compute_jaccard(actual: LabelSets, given: LabelSets) -> np.ndarray:
    """Return the share of labels in both sets among those in any [N]; 1 where both are empty."""
    shares = []
    for one, other in zip(map(set, actual), map(set, given), strict=True):
        shares.append(len(one & other) / len(one | other) if one | other else 1.0)
    return np.array(shares)


def list_labels(label_sets: LabelSets) -> list[str]:
    """List the labels that rows have, sorted; ValueError where none has one."""
    names = sorted({label for labels in label_sets for label in labels})
    if not names:
        raise ValueError("no row has a label")
    return names


def _average(values: Iterable[np.ndarray]) -> np.ndarray:
    """Return the mean of arrays, of which one at a time is held."""
    count = 0
    total: Any = 0.0
    for array in values:
        total = total + array
        count += 1
    mean: np.ndarray = total / count
    return mean
