"""What every answer must be that is a set of labels, and every ranking of scores."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.tasks.text_classification.data.label_sets import join_labels

ROUNDING = 1e-6  # of one probability
MAX_CHANCE_ERROR = 1e-6  # of a product of them


def check_ranking(scores: Sequence[Mapping[str, Any]]) -> str | None:
    """Check that scores are probabilities, of labels that differ, the best first."""
    if not scores:
        return "no class has a score"
    values = [entry["score"] for entry in scores]
    labels = [entry["label"] for entry in scores]
    if len(set(labels)) < len(labels):
        return "a class has two scores"
    for label, value in zip(labels, values, strict=True):
        if not math.isfinite(value) or not 0 <= value <= 1 + ROUNDING:
            return f"the score of {label} is {value:g}, which is not a probability"
    if values != sorted(values, reverse=True):
        return "the scores are not sorted, the best first"
    return None


def find_highest_refused(answers: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """Map each label that a row does not get to the highest score at which it does not.

    A label has one threshold: no row may get it at a lower score.
    """
    highest: dict[str, float] = {}
    for scores, labels in zip(answers["scores"], answers["labels"], strict=True):
        for entry in scores:
            if entry["label"] not in labels:
                known = highest.get(entry["label"], -math.inf)
                highest[entry["label"]] = max(known, entry["score"])
    return highest


def check_set(
    answer: Mapping[str, Any], top_k: int | None, highest: Mapping[str, float]
) -> str | None:
    """Check a set of labels: its text, its probability, and the scores of the labels.

    `highest` is what `find_highest_refused` says of all answers.

    The probability of the set is the product of those of all its labels, and of the absence of all
    others. Of a label that `top_k` does not show it is known that it is no more probable than the
    last one shown: so there is a highest probability of the set, whatever is shown.
    """
    problem = check_ranking(answer["scores"])
    if problem:
        return problem
    labels = answer["labels"]
    if answer["label"] != join_labels(labels) or len(set(labels)) < len(labels):
        return f"the label is {answer['label']}, the labels are {labels}"
    for entry in answer["scores"]:
        if entry["label"] in labels and entry["score"] < highest.get(entry["label"], -math.inf):
            return (
                f"{entry['label']} is given at {entry['score']:g}, and another row with "
                f"{highest[entry['label']]:g} does not get it"
            )
    unseen = set(labels) - {entry["label"] for entry in answer["scores"]}
    is_complete = top_k is not None and len(answer["scores"]) < top_k
    if is_complete and unseen:
        return f"a label of {answer['label']} has no score"
    chance: float = answer["scores"][-1]["score"] ** len(unseen)
    for entry in answer["scores"]:
        chance *= entry["score"] if entry["label"] in labels else 1 - entry["score"]
    score = answer["score"]
    if not 0 <= score <= chance + MAX_CHANCE_ERROR:
        return f"the score is {score:g}, the scores of its labels allow {chance:g}"
    if is_complete and score < chance - MAX_CHANCE_ERROR:
        return f"the score is {score:g}, the scores of all labels give {chance:g}"
    return None
