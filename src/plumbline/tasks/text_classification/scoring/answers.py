"""What a predictor answers to texts: labels and probabilities, collected in chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data.label_sets import choose_list_labels

CHUNK_ROWS = 256
DOUBT = ("epistemic", "aleatoric")  # of an ensemble


@dataclass(frozen=True)
class ClassAnswers:
    """What a predictor answered to N texts, of K classes or labels."""

    labels: np.ndarray  # [N], the predicted ones
    label_sets: list[tuple[str, ...]]  # [N], the same, one by one where an answer is a set
    confidence: np.ndarray  # [N], the probability of the answer
    probabilities: np.ndarray  # [N, K]
    names: list[str]  # of the K classes, sorted
    abstained: np.ndarray  # [N], whether it left the row to a person
    doubt: dict[str, np.ndarray]  # an ensemble's epistemic and aleatoric [N], in nats; else empty


def collect_answers(predictor: Predictor, texts: Sequence[str], num_classes: int) -> ClassAnswers:
    """Ask for labels and probabilities, in chunks.

    Raises ValueError for an answer that is not a distribution over the classes; those of sets of
    labels are probabilities of each label by itself.
    """
    if not texts:
        raise ValueError("there is no example to answer")
    answers: dict[str, list[Any]] = {}
    names: list[str] = []
    parts = []  # numbers take less memory than what a predictor answers
    for start in range(0, len(texts), CHUNK_ROWS):
        chunk = list(texts[start : start + CHUNK_ROWS])
        answered = dict(predictor.predict({"text": chunk}, top_k=num_classes))
        scores = answered.pop("scores")
        rows = [{entry["label"]: entry["score"] for entry in ranked} for ranked in scores]
        names = names or sorted(rows[0])
        parts.append(np.array([[row.get(name, np.nan) for name in names] for row in rows], float))
        for name, values in answered.items():
            answers.setdefault(name, []).extend(values)
    probabilities = np.concatenate(parts)
    has_sets = "labels" in answers
    confidence = probabilities.max(axis=1)
    if has_sets:
        _check_probabilities(probabilities)
        confidence = np.array(answers["score"], float)
    else:
        _check_distributions(probabilities)
    # `label` has the names that classes have now, `labels` may not.
    label_sets = list(map(choose_list_labels(has_sets), answers["label"]))
    return ClassAnswers(
        np.array(answers["label"], dtype=object),
        label_sets,
        confidence,
        probabilities,
        names,
        np.array(answers["abstained"], float),
        {name: np.array(answers[name], float) for name in DOUBT if name in answers},
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
