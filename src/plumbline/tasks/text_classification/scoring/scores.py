"""Scores of a predictor on one split, example by example, from its answers alone.

Shapes: N examples, K classes. Probabilities are [N, K], their columns in the order of the sorted class names.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import Predictor, Scores
from plumbline.statistics import calibration
from plumbline.tasks.text_classification.data import read

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 256
ALL_CLASSES = 1_000_000  # a champion may know more than today's train split has
NUM_STEPS = 20
TINY = 1e-12  # the probability at which the loss of a class held impossible is counted


def inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """The predictor's columns for one split, in order."""
    return {"text": read(examples, split, ["text"])["text"].to_pylist()}


def classes(examples: Path) -> list[str]:
    """The class names that training has seen, sorted."""
    return sorted(set(read(examples, "train", ["label"])["label"].to_pylist()))


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every example of `split`; ValueError where an answer is not a distribution over the classes."""
    rows = read(examples, split, ["id", "text", "label"])
    actual = np.array(rows["label"].to_pylist(), dtype=object)
    predicted, probabilities, names = answers(predictor, rows["text"].to_pylist(), ALL_CLASSES)
    hits = (predicted == actual).astype(float)
    confidence = probabilities.max(axis=1)
    chances = _chance_of(actual, probabilities, names)
    squares = (probabilities**2).sum(axis=1) - 2 * chances + 1
    per_example = {
        "id": np.array(rows["id"].to_pylist(), dtype=object),
        "accuracy": hits,
        "actual": actual,
        "predicted": predicted,
        "confidence": confidence,
        "nll": -np.log(np.maximum(chances, TINY)),
        "brier": squares,
    }
    by_class = per_class(actual, predicted)
    curve = risk_coverage(confidence, hits)
    metrics = {
        "accuracy": float(hits.mean()),
        "macro_f1": float(by_class["f1"].mean()),
        "nll": float(per_example["nll"].mean()),
        "ece": calibration.expected_error(confidence, hits),
        "brier": float(squares.mean()),
        "accuracy_at_80_coverage": float(
            np.interp(0.8, curve["coverage"][::-1], curve["accuracy"][::-1])
        ),
    }
    metrics |= _before_temperature(predictor, actual, hits, probabilities, names)
    tables = {
        "confusion": _frame({"actual": actual, "predicted": predicted}),
        "confused": confused(actual, predicted),
        "per_class": by_class,
        "reliability": reliability(confidence, hits),
        "risk_coverage": curve,
    }
    return Scores(per_example, metrics, tables)


def answers(
    predictor: Predictor, texts: Sequence[str], num_classes: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Predicted labels [N], probabilities [N, K] and the K class names; ValueError for anything but a distribution."""
    if not texts:
        raise ValueError("there is no example to answer")
    labels: list[str] = []
    found: list[dict[str, float]] = []
    for start in range(0, len(texts), CHUNK_ROWS):
        chunk = list(texts[start : start + CHUNK_ROWS])
        answer = predictor.predict({"text": chunk}, top_k=num_classes)
        if len(answer["label"]) != len(chunk) or len(answer["scores"]) != len(chunk):
            raise ValueError(f"{len(chunk)} texts were asked, {len(answer['label'])} answered")
        labels += answer["label"]
        found += [{entry["label"]: entry["score"] for entry in row} for row in answer["scores"]]
    names = sorted(found[0])
    probabilities = np.array(
        [[row.get(name, np.nan) for name in names] for row in found], dtype=float
    )
    sums = probabilities.sum(axis=1)
    if not (np.abs(sums - 1) < 1e-3).all():  # NaN is caught too
        raise ValueError(
            f"the scores of a text do not sum to 1 over {len(names)} classes (first: {sums[0]})"
        )
    return np.array(labels, dtype=object), probabilities, names


def per_class(actual: np.ndarray, predicted: np.ndarray) -> "pd.DataFrame":
    """Precision, recall and F1 of every class that occurs in the split, with the counts they come from."""
    from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

    names = sorted(set(actual))
    told, right = predicted.astype(str), actual.astype(str)
    precision, recall, f1, support = precision_recall_fscore_support(
        right, told, labels=names, zero_division=0
    )
    counts = multilabel_confusion_matrix(right, told, labels=names)
    return _frame(
        {
            "label": names,
            "num_rows": support,
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "true_positives": counts[:, 1, 1],
            "false_positives": counts[:, 0, 1],
            "false_negatives": counts[:, 1, 0],
        }
    )


def confused(actual: np.ndarray, predicted: np.ndarray) -> "pd.DataFrame":
    """The pairs of classes mistaken for each other most often."""
    pairs = _frame({"actual": actual, "predicted": predicted})[actual != predicted]
    counts = pairs.value_counts(sort=False).rename("num_rows").reset_index()
    order: pd.DataFrame = counts.sort_values(
        ["num_rows", "actual", "predicted"], ascending=[False, True, True]
    )
    return order.head(NUM_STEPS).reset_index(drop=True)


def reliability(confidence: np.ndarray, hits: np.ndarray) -> "pd.DataFrame":
    """Mean confidence and accuracy in bins of equal width; empty bins are left out."""
    bins = calibration.bins(confidence)
    rows = [
        {
            "confidence": confidence[bins == b].mean(),
            "accuracy": hits[bins == b].mean(),
            "num_rows": (bins == b).sum(),
        }
        for b in np.unique(bins)
    ]
    return _frame(
        {name: [row[name] for row in rows] for name in ("confidence", "accuracy", "num_rows")}
    )


def risk_coverage(confidence: np.ndarray, hits: np.ndarray) -> "pd.DataFrame":
    """Accuracy of the answers kept when the least confident are handed to a person (El-Yaniv and Wiener 2010)."""
    order = np.argsort(-confidence, kind="stable")
    kept = np.unique(np.ceil(np.linspace(1, 0, NUM_STEPS, endpoint=False) * hits.size).astype(int))[
        ::-1
    ]
    right = np.cumsum(hits[order])
    return _frame(
        {
            "coverage": kept / hits.size,
            "accuracy": right[kept - 1] / kept,
            "threshold": confidence[order][kept - 1],
        }
    )


def _before_temperature(
    predictor: Predictor,
    actual: np.ndarray,
    hits: np.ndarray,
    probabilities: np.ndarray,
    names: list[str],
) -> dict[str, float]:
    """Calibration as it was before the fitted temperature T: softmax(z) is softmax(z/T)^T, normalised."""
    temperature = getattr(predictor, "temperature", None)
    if temperature is None:
        return {}
    logs = float(temperature) * np.log(np.maximum(probabilities, 1e-300))
    raw = np.exp(logs - logs.max(axis=1, keepdims=True))
    raw /= raw.sum(axis=1, keepdims=True)
    chances = np.maximum(_chance_of(actual, raw, names), TINY)
    return {
        "ece_before_temperature": calibration.expected_error(raw.max(axis=1), hits),
        "nll_before_temperature": float(-np.log(chances).mean()),
    }


def _chance_of(actual: np.ndarray, probabilities: np.ndarray, names: list[str]) -> np.ndarray:
    """The probability given to each row's own class [N]; 0 for a class the predictor does not know."""
    column = {name: index for index, name in enumerate(names)}
    where = np.array([column.get(label, -1) for label in actual])
    return np.where(where < 0, 0.0, probabilities[np.arange(len(actual)), where])


def _frame(columns: dict[str, Any]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(columns)
