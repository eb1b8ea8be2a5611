"""Scores of a predictor on one split, example by example, from its answers alone.

Shapes: N examples, K classes. Probabilities are [N, K]; their columns are the sorted class names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from plumbline.statistics import calibration
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.scoring.chosen_metric import LabelAnswers

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 256
DOUBT = ("epistemic", "aleatoric")  # of an ensemble
ALL_CLASSES = 1_000_000  # a champion may know more classes than today's train split has
NUM_STEPS = 20
TINY = 1e-12  # the least probability in the loss, so that a class with none costs a finite loss


@dataclass(frozen=True)
class ClassAnswers:
    """What a predictor answered."""

    labels: np.ndarray  # [N], the predicted ones
    label_sets: list[tuple[str, ...]]  # [N], the same, one by one where an answer is a set
    confidence: np.ndarray  # [N], the probability of the answer
    probabilities: np.ndarray  # [N, K]
    names: list[str]  # of the K classes
    abstained: np.ndarray  # [N], whether it left the row to a person
    doubt: dict[str, np.ndarray]  # an ensemble's epistemic and aleatoric [N], in nats; else empty


def score_classes(examples: Path, split: str, predictor: Predictor) -> tuple[Scores, LabelAnswers]:
    """Score every example of `split`, whose rows have one class each; return the labels too.

    Raises ValueError for an answer that is not a distribution over the classes.
    """
    rows = read_split(examples, split, ["id", "text", "label"])
    actual = np.array(rows["label"].to_pylist(), dtype=object)
    answers = collect_answers(predictor, rows["text"].to_pylist(), ALL_CLASSES)
    hits = (answers.labels == actual).astype(float)
    confidence = answers.confidence
    chances = _select_chances(actual, answers.probabilities, answers.names)
    per_example = {
        "id": np.array(rows["id"].to_pylist(), dtype=object),
        "accuracy": hits,
        "actual": actual,
        "predicted": answers.labels,
        "confidence": confidence,
        "answered": 1.0 - answers.abstained,
        **answers.doubt,
        "nll": -np.log(np.maximum(chances, TINY)),
        "brier": (answers.probabilities**2).sum(axis=1) - 2 * chances + 1,
    }
    tables = {
        "confusion": build_frame({"actual": actual, "predicted": answers.labels}),
        "confused": count_confusions(actual, answers.labels),
        "per_class": compute_per_class(actual, answers.labels),
        "reliability": compute_reliability(confidence, hits),
        "risk_coverage": compute_risk_coverage(-_measure_doubt(answers), hits),
    }
    metrics = summarise(per_example, tables)
    metrics |= _score_before_temperature(predictor, actual, hits, answers)
    labels = LabelAnswers(
        [(label,) for label in actual], answers.label_sets, answers.names, answers.probabilities
    )
    return Scores(per_example, metrics, tables), labels


def collect_answers(predictor: Predictor, texts: Sequence[str], num_classes: int) -> ClassAnswers:
    """Ask for labels and probabilities, in chunks.

    Raises ValueError for an answer that is not a distribution over the classes; those of sets of
    labels are probabilities of each label by itself. All answers are sets, or none is.
    """
    if not texts:
        raise ValueError("there is no example to answer")
    labels: list[str] = []
    kinds: set[bool] = set()  # whether the answers of a chunk are sets
    label_sets: list[tuple[str, ...]] = []
    abstained: list[bool] = []
    stated: list[float] = []
    doubt: dict[str, list[float]] = {}
    rows: list[dict[str, float]] = []
    for start in range(0, len(texts), CHUNK_ROWS):
        chunk = list(texts[start : start + CHUNK_ROWS])
        answer = predictor.predict({"text": chunk}, top_k=num_classes)
        if len(answer["label"]) != len(chunk) or len(answer["scores"]) != len(chunk):
            raise ValueError(f"{len(chunk)} texts were asked, {len(answer['label'])} answered")
        labels += answer["label"]
        has_sets = "labels" in answer
        kinds.add(has_sets)
        for label in answer["label"]:  # it has the names that classes have now, `labels` may not
            label_sets.append(split_labels(label) if has_sets else (label,))
        abstained += answer["abstained"]
        stated += answer["score"]
        for name in DOUBT:
            if name in answer:
                doubt.setdefault(name, []).extend(answer[name])
        for scores in answer["scores"]:
            rows.append({entry["label"]: entry["score"] for entry in scores})
    if len(kinds) > 1:
        raise ValueError("some answers have `labels`, a set of them, and others do not")
    names = sorted(rows[0])
    probabilities = np.array([[row.get(name, np.nan) for name in names] for row in rows], float)
    confidence = probabilities.max(axis=1)
    if has_sets:
        _check_probabilities(probabilities)
        confidence = np.array(stated, float)
    else:
        _check_distributions(probabilities)
    return ClassAnswers(
        np.array(labels, dtype=object),
        label_sets,
        confidence,
        probabilities,
        names,
        np.array(abstained, float),
        {name: np.array(values, float) for name, values in doubt.items()},
    )


def _check_distributions(probabilities: np.ndarray) -> None:
    sums = probabilities.sum(axis=1)
    if not (np.abs(sums - 1) < 1e-3).all():  # NaN is caught too
        num_classes = probabilities.shape[1]
        raise ValueError(
            f"the scores of a text do not sum to 1 over {num_classes} classes (first: {sums[0]})"
        )


def _check_probabilities(probabilities: np.ndarray) -> None:
    if not ((probabilities >= 0) & (probabilities <= 1)).all():  # NaN is caught too
        raise ValueError("the score of a label is not a probability")


def compute_per_class(actual: np.ndarray, predicted: np.ndarray) -> "pd.DataFrame":
    """Precision, recall and F1 of every class in the split, with the counts they come from."""
    names = sorted(set(actual))
    return build_class_table(names, actual.astype(str), predicted.astype(str), labels=names)


def build_class_table(
    names: list[str], truth: np.ndarray, answered: np.ndarray, labels: list[str] | None
) -> "pd.DataFrame":
    """Build the table of precision, recall and F1 of the classes `names`, with their counts.

    `truth` and `answered` are classes [rows], of which `labels` gives the order, or, without it,
    ones where a row has a label [rows, classes].
    """
    from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

    precision, recall, f1, support = precision_recall_fscore_support(
        truth, answered, labels=labels, zero_division=0
    )
    counts = multilabel_confusion_matrix(truth, answered, labels=labels)
    return build_frame(
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


def count_confusions(actual: np.ndarray, predicted: np.ndarray) -> "pd.DataFrame":
    """Count the pairs of classes that are mistaken for each other most often."""
    pairs = build_frame({"actual": actual, "predicted": predicted})[actual != predicted]
    counts = pairs.value_counts(sort=False).rename("num_rows").reset_index()
    order: pd.DataFrame = counts.sort_values(
        ["num_rows", "actual", "predicted"], ascending=[False, True, True]
    )
    return order.head(NUM_STEPS).reset_index(drop=True)


def compute_reliability(confidence: np.ndarray, hits: np.ndarray) -> "pd.DataFrame":
    """Mean confidence and accuracy in bins of equal width; empty bins are left out."""
    bins = calibration.assign_bins(confidence)
    columns: dict[str, list[Any]] = {"confidence": [], "accuracy": [], "num_rows": []}
    for number in np.unique(bins):
        in_bin = bins == number
        columns["confidence"].append(confidence[in_bin].mean())
        columns["accuracy"].append(hits[in_bin].mean())
        columns["num_rows"].append(in_bin.sum())
    return build_frame(columns)


def compute_risk_coverage(confidence: np.ndarray, hits: np.ndarray) -> "pd.DataFrame":
    """Accuracy of the answers that are kept when the least confident go to a person.

    `confidence` may be any number that is greater for a more certain answer.

    The method is that of El-Yaniv and Wiener 2010.
    """
    order = np.argsort(-confidence, kind="stable")
    shares = np.linspace(1, 0, NUM_STEPS, endpoint=False)
    num_kept = np.unique(np.ceil(shares * hits.size).astype(int))[::-1]
    num_right = np.cumsum(hits[order])
    return build_frame(
        {
            "coverage": num_kept / hits.size,
            "accuracy": num_right[num_kept - 1] / num_kept,
            "threshold": confidence[order][num_kept - 1],
        }
    )


def _measure_doubt(answers: ClassAnswers) -> np.ndarray:
    """Return the uncertainty of each answer [N]: an ensemble's in all, else what is left of 1."""
    doubt: np.ndarray = 1 - answers.probabilities.max(axis=1)
    if answers.doubt:
        doubt = answers.doubt["epistemic"] + answers.doubt["aleatoric"]
    return doubt


def summarise(
    per_example: dict[str, np.ndarray], tables: dict[str, "pd.DataFrame"]
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


def _score_before_temperature(
    predictor: Predictor, actual: np.ndarray, hits: np.ndarray, answers: ClassAnswers
) -> dict[str, float]:
    """Calibration as it was before the fitted temperature T.

    softmax(z) is softmax(z/T)^T, normalised.
    """
    temperature = getattr(predictor, "temperature", None)
    if temperature is None or answers.doubt:  # members have the temperature, not their mean
        return {}
    logs = float(temperature) * np.log(np.maximum(answers.probabilities, 1e-300))
    raw = np.exp(logs - logs.max(axis=1, keepdims=True))
    raw /= raw.sum(axis=1, keepdims=True)
    chances = np.maximum(_select_chances(actual, raw, answers.names), TINY)
    return {
        "ece_before_temperature": calibration.compute_calibration_error(raw.max(axis=1), hits),
        "nll_before_temperature": float(-np.log(chances).mean()),
    }


def _select_chances(actual: np.ndarray, probabilities: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the probability given to each row's own class [N]; 0 for an unknown class."""
    index = {name: number for number, name in enumerate(names)}
    columns = np.array([index.get(label, -1) for label in actual])
    return np.where(columns < 0, 0.0, probabilities[np.arange(len(actual)), columns])


def build_frame(columns: dict[str, Any]) -> "pd.DataFrame":
    """Return a table of `columns`; pandas is imported where it is needed."""
    import pandas as pd

    return pd.DataFrame(columns)
