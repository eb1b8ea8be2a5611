"""Scores of answers that are sets of labels, row by row.

An answer is right where it is exactly the row's set (`accuracy`); `jaccard` also counts a set that
is right in part. Both are means over rows, as the gates need it.

Shapes: N examples, K labels.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import read_label_sets, read_split
from plumbline.tasks.text_classification.data.label_sets import NO_LABEL, join_labels
from plumbline.tasks.text_classification.scoring.chosen_metric import (
    LabelAnswers,
    LabelSets,
    mark_labels,
)
from plumbline.tasks.text_classification.scoring.scores import (
    ALL_CLASSES,
    TINY,
    ClassAnswers,
    build_class_table,
    build_frame,
    collect_answers,
    compute_reliability,
    compute_risk_coverage,
    count_confusions,
    summarise,
)

if TYPE_CHECKING:
    import pandas as pd


def score_sets(examples: Path, split: str, predictor: Predictor) -> tuple[Scores, LabelAnswers]:
    """Score every example of `split`, whose rows have sets of labels; return the labels too.

    A predictor of one class, such as an earlier champion, is taken to answer a set of one. Raises
    ValueError for scores that are no probabilities.
    """
    rows = read_split(examples, split, ["id", "text"])
    actual = read_label_sets(examples, split)
    answers = collect_answers(predictor, rows["text"].to_pylist(), ALL_CLASSES)
    given = answers.label_sets
    hits = np.array([set(one) == set(other) for one, other in zip(actual, given, strict=True)])
    per_example = {
        "id": np.array(rows["id"].to_pylist(), dtype=object),
        "accuracy": hits.astype(float),
        "actual": _write_sets(actual),
        "predicted": _write_sets(given),
        "confidence": answers.confidence,
        "answered": 1.0 - answers.abstained,
        **_score_probabilities(actual, answers),
        "jaccard": compute_jaccard(actual, given),
    }
    decisions = _list_decisions(actual, given)
    tables = {
        "confusion": build_frame(decisions),
        "confused": count_confusions(decisions["actual"], decisions["predicted"]),
        "per_class": compute_per_label(actual, given),
        "reliability": compute_reliability(answers.confidence, per_example["accuracy"]),
        "risk_coverage": compute_risk_coverage(answers.confidence, per_example["accuracy"]),
    }
    metrics = summarise(per_example, tables)
    metrics["jaccard"] = float(per_example["jaccard"].mean())
    labels = LabelAnswers(actual, given, answers.names, answers.probabilities)
    return Scores(per_example, metrics, tables), labels


def compute_jaccard(actual: LabelSets, given: LabelSets) -> np.ndarray:
    """Return the share of labels in both sets among those in any [N]; 1 where both are empty."""
    shares = []
    for one, other in zip(map(set, actual), map(set, given), strict=True):
        shares.append(len(one & other) / len(one | other) if one | other else 1.0)
    return np.array(shares)


def compute_per_label(actual: LabelSets, given: LabelSets) -> "pd.DataFrame":
    """Precision, recall and F1 of every label in the split, with the counts they come from."""
    from sklearn.preprocessing import MultiLabelBinarizer

    names = sorted({label for labels in actual for label in labels})
    known = [[label for label in labels if label in names] for labels in given]
    indicators = MultiLabelBinarizer(classes=names).fit([])
    truth, answered = indicators.transform(actual), indicators.transform(known)
    return build_class_table(names, truth, answered, labels=None)


def _write_sets(label_sets: LabelSets) -> np.ndarray:
    return np.array([join_labels(labels) for labels in label_sets], dtype=object)


def _score_probabilities(actual: LabelSets, answers: ClassAnswers) -> dict[str, np.ndarray]:
    """Return the negative log likelihood and the squared error of each row's set [N].

    Both are sums over labels; one that the predictor does not know has no chance.
    """
    names = [*answers.names, *_list_unknown(actual, answers.names)]
    probabilities = np.zeros((len(actual), len(names)))
    probabilities[:, : len(answers.names)] = answers.probabilities
    chances = np.where(mark_labels(actual, names), probabilities, 1 - probabilities)
    return {
        "nll": -np.log(np.maximum(chances, TINY)).sum(axis=1),
        "brier": ((1 - chances) ** 2).sum(axis=1),
    }


def _list_unknown(actual: LabelSets, names: Sequence[str]) -> list[str]:
    return sorted({label for labels in actual for label in labels} - set(names))


def _list_decisions(actual: LabelSets, given: LabelSets) -> dict[str, np.ndarray]:
    """List all labels that a row has or gets, with NO_LABEL where it is one of both alone."""
    pairs = []
    for one, other in zip(actual, given, strict=True):
        for label in sorted({*one, *other}):
            pairs.append(
                (label if label in one else NO_LABEL, label if label in other else NO_LABEL)
            )
    columns = np.array(pairs, dtype=object).reshape(-1, 2)
    return {"actual": columns[:, 0], "predicted": columns[:, 1]}
