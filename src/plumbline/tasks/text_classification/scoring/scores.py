"""Scores of a predictor on one split, example by example, from its answers alone.

An answer to a row with a set of labels is right where it is exactly the row's set (`accuracy`);
`jaccard` also counts one that is right in part. All are means over rows, as the gates need it.

Shapes: N examples, K classes. Probabilities are [N, K]; their columns are the sorted class names.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.statistics import calibration
from plumbline.tasks.text_classification.data import read_label_sets, read_split
from plumbline.tasks.text_classification.data.label_sets import (
    NO_LABEL,
    join_labels,
    mark_labels,
    split_labels,
)
from plumbline.tasks.text_classification.data.storage import has_label_sets
from plumbline.tasks.text_classification.scoring.answers import ClassAnswers, collect_answers
from plumbline.tasks.text_classification.scoring.chosen_metric import (
    LabelAnswers,
    LabelSets,
    add_metric,
    compute_jaccard,
    list_labels,
)

ALL_CLASSES = 1_000_000  # a champion may know more classes than today's train split has
NUM_STEPS = 20
TINY = 1e-12  # the least probability in the loss, so that a class with none costs a finite loss


def score(
    examples: Path, split: str, predictor: Predictor, chosen: Mapping[str, Any] | None = None
) -> Scores:
    """Score every example of `split`, by the metric that params have `chosen` too.

    Where rows have sets of labels, a predictor of one class, such as an earlier champion, is taken
    to answer a set of one. ValueError for answers that are no probabilities.
    """
    rows = read_split(examples, split, ["id", "text"])
    actual = read_label_sets(examples, split)
    has_sets = has_label_sets(examples, split)
    answers = collect_answers(predictor, rows["text"].to_pylist(), ALL_CLASSES)
    given = answers.label_sets
    pairs = zip(actual, given, strict=True)
    hits = np.array([set(one) == set(other) for one, other in pairs], float)
    per_example = {
        "id": np.array(rows["id"].to_pylist(), dtype=object),
        "accuracy": hits,
        "actual": np.array(list(map(join_labels, actual)), dtype=object),
        "predicted": answers.labels,
        "confidence": answers.confidence,
        "answered": 1.0 - answers.abstained,
        **answers.doubt,
    }
    if has_sets:
        per_example |= _score_sets(actual, answers)
        decisions = _list_decisions(actual, given)
    else:
        per_example |= _score_classes(per_example["actual"], answers)
        decisions = {name: per_example[name] for name in ("actual", "predicted")}
    certainty = answers.confidence
    if answers.doubt:
        certainty = -(answers.doubt["epistemic"] + answers.doubt["aleatoric"])
    tables = {
        "confusion": pd.DataFrame(decisions),
        "confused": count_confusions(decisions["actual"], decisions["predicted"]),
        "per_class": compute_per_label(actual, given),
        "reliability": compute_reliability(answers.confidence, hits),
        "risk_coverage": compute_risk_coverage(certainty, hits),
    }
    metrics = summarise(per_example, tables)
    if has_sets:
        metrics["jaccard"] = float(per_example["jaccard"].mean())
    scores = Scores(per_example, metrics, tables)
    labels = LabelAnswers(actual, given, answers.names, answers.probabilities)
    return add_metric(scores, labels, chosen) if chosen else scores


def score_answer(answer: Mapping[str, Any], truth: str) -> float:
    """Score one answer: 1 for the right class, or for exactly the set of labels in `truth`."""
    labels = answer.get("labels")
    if labels is None:
        return float(answer["label"] == truth)
    right = json.loads(truth) if truth.startswith("[") else split_labels(truth)
    return float(set(right) == set(labels))


def compute_per_label(actual: LabelSets, given: LabelSets) -> pd.DataFrame:
    """Precision, recall and F1 of every class in the split, with the counts they come from."""
    names = list_labels(actual)
    truth, answered = (mark_labels(labels, names) for labels in (actual, given))
    right = (truth & answered).sum(axis=0)
    num_rows, num_answers = truth.sum(axis=0), answered.sum(axis=0)
    return pd.DataFrame(
        {
            "label": names,
            "num_rows": num_rows,
            "precision": right / np.maximum(num_answers, 1),  # 0 for a class that is never answered
            "recall": right / num_rows,
            "f1": 2 * right / (num_rows + num_answers),
            "true_positives": right,
            "false_positives": num_answers - right,
            "false_negatives": num_rows - right,
        }
    )


def count_confusions(actual: np.ndarray, predicted: np.ndarray) -> pd.DataFrame:
    """Count the pairs of classes that are mistaken for each other most often."""
    pairs = pd.DataFrame({"actual": actual, "predicted": predicted})[actual != predicted]
    counts = pairs.value_counts(sort=False).rename("num_rows").reset_index()
    order: pd.DataFrame = counts.sort_values(
        ["num_rows", "actual", "predicted"], ascending=[False, True, True]
    )
    return order.head(NUM_STEPS).reset_index(drop=True)


def compute_reliability(confidence: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Mean confidence and accuracy in bins of equal width; empty bins are left out."""
    bins = calibration.assign_bins(confidence)
    columns: dict[str, list[Any]] = {"confidence": [], "accuracy": [], "num_rows": []}
    for number in np.unique(bins):
        in_bin = bins == number
        columns["confidence"].append(confidence[in_bin].mean())
        columns["accuracy"].append(hits[in_bin].mean())
        columns["num_rows"].append(in_bin.sum())
    return pd.DataFrame(columns)


def compute_risk_coverage(confidence: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Accuracy of the answers that are kept when the least confident go to a person.

    `confidence` may be any number that is greater for a more certain answer.

    The method is that of El-Yaniv and Wiener 2010.
    """
    order = np.argsort(-confidence, kind="stable")
    shares = np.linspace(1, 0, NUM_STEPS, endpoint=False)
    num_kept = np.unique(np.ceil(shares * hits.size).astype(int))[::-1]
    num_right = np.cumsum(hits[order])
    return pd.DataFrame(
        {
            "coverage": num_kept / hits.size,
            "accuracy": num_right[num_kept - 1] / num_kept,
            "threshold": confidence[order][num_kept - 1],
        }
    )


def summarise(
    per_example: dict[str, np.ndarray], tables: dict[str, pd.DataFrame]
) -> dict[str, float]:
    """Return the metrics that rows with one class and with sets of labels both have."""
    hits = per_example["accuracy"]
    curve = tables["risk_coverage"]
    # np.interp needs the coverage in ascending order.
    at_80 = np.interp(0.8, curve["coverage"][::-1], curve["accuracy"][::-1])
    return {
        "accuracy": float(hits.mean()),
        "macro_f1": float(tables["per_class"]["f1"].mean()),
        "nll": float(per_example["nll"].mean()),
        "ece": calibration.compute_calibration_error(per_example["confidence"], hits),
        "brier": float(per_example["brier"].mean()),
        "accuracy_at_80_coverage": float(at_80),
    }


def _score_classes(actual: np.ndarray, answers: ClassAnswers) -> dict[str, np.ndarray]:
    """Return the negative log likelihood and the squared error of each row's class [N]."""
    chances = _select_chances(actual, answers.probabilities, answers.names)
    return {
        "nll": -np.log(np.maximum(chances, TINY)),
        "brier": (answers.probabilities**2).sum(axis=1) - 2 * chances + 1,
    }


def _score_sets(actual: LabelSets, answers: ClassAnswers) -> dict[str, np.ndarray]:
    """Return the negative log likelihood and the squared error of each row's set [N], and more.

    Both are sums over labels; one that the predictor does not know has no chance.
    """
    unknown = {label for labels in actual for label in labels}.difference(answers.names)
    names = [*answers.names, *sorted(unknown)]
    probabilities = np.zeros((len(actual), len(names)))
    probabilities[:, : len(answers.names)] = answers.probabilities
    chances = np.where(mark_labels(actual, names), probabilities, 1 - probabilities)
    return {
        "nll": -np.log(np.maximum(chances, TINY)).sum(axis=1),
        "brier": ((1 - chances) ** 2).sum(axis=1),
        "jaccard": compute_jaccard(actual, answers.label_sets),
    }


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


def _select_chances(actual: np.ndarray, probabilities: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the probability given to each row's own class [N]; 0 for an unknown class."""
    index = {name: number for number, name in enumerate(names)}
    columns = np.array([index.get(label, -1) for label in actual])
    return np.where(columns < 0, 0.0, probabilities[np.arange(len(actual)), columns])
