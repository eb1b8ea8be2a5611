"""What every answer of a text classifier must be, whatever the text; and the longest text."""

import math
from collections.abc import Mapping
from typing import Any

from plumbline.contract.task import Columns, Predictor
from plumbline.tasks.text_classification.data.label_sets import join_labels
from plumbline.tasks.text_classification.predictor import MAX_CHARS

ROUNDING = 1e-6  # of one probability, of a product of them, and of an entropy in nats
MAX_SUM_ERROR = 1e-3  # of all of them
NUM_SHOWN = 60  # characters of a text that a message shows
WORDS = "I was charged twice for one order and nobody answers. "

Answer = Mapping[str, Any]


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    Scores are probabilities, sorted. The label is that of the best one, and their sum is 1 over all
    classes; the score of a set of labels is the product of those of its labels, and of the absence
    of all others. Sums and products are asked where `top_k` leaves no class out. An answer has
    abstained if its score is below the threshold of the call, or below that of the bundle: then it
    is below the score of every row that was answered. Both parts of an ensemble's doubt are at
    least 0, and their sum is the entropy of its scores.
    """
    texts = columns["text"]
    wrong_size = [name for name, values in answers.items() if len(values) != len(texts)]
    if wrong_size:
        return [f"{wrong_size[0]}: {len(answers[wrong_size[0]])} answers to {len(texts)} texts"]
    answered = zip(answers["score"], answers["abstained"], strict=True)
    lowest = min((score for score, abstained in answered if not abstained), default=math.inf)
    limits = params.get("threshold", 0.0), lowest
    top_k = params.get("top_k", 0)
    problems = []
    for row, text in enumerate(texts):
        answer = {name: values[row] for name, values in answers.items()}
        is_complete = len(answer["scores"]) < top_k
        check = _check_set if "labels" in answer else _check_label
        problem = (
            _check_ranking(answer)
            or check(answer, is_complete)
            or _check_abstention(answer, limits)
            or _check_doubt(answer, is_complete)
        )
        if problem:
            problems.append(f"row {row} ({text!r:.{NUM_SHOWN}}): {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[str]]:
    """Return a text of ordinary words with as many characters as the predictor accepts."""
    text = WORDS * (MAX_CHARS // len(WORDS) + 1)
    return {"text": [text[:MAX_CHARS]]}


def _check_ranking(answer: Answer) -> str | None:
    """Check that scores are probabilities, of labels that differ, the best first."""
    values = [entry["score"] for entry in answer["scores"]]
    labels = [entry["label"] for entry in answer["scores"]]
    if not values:
        return "no class has a score"
    if len(set(labels)) < len(labels):
        return "a class has two scores"
    for label, value in zip(labels, values, strict=True):
        if not math.isfinite(value) or not 0 <= value <= 1 + ROUNDING:
            return f"the score of {label} is {value:g}, which is not a probability"
    if values != sorted(values, reverse=True):
        return "the scores are not sorted, the best first"
    return None


def _check_set(answer: Answer, is_complete: bool) -> str | None:
    """Check a set of labels: its text, and its probability by the scores of the labels."""
    labels = answer["labels"]
    if answer["label"] != join_labels(labels) or len(set(labels)) < len(labels):
        return f"the label is {answer['label']}, the labels are {labels}"
    if not is_complete:
        return None
    if set(labels) - {entry["label"] for entry in answer["scores"]}:
        return f"a label of {answer['label']} has no score"
    chances = [
        entry["score"] if entry["label"] in labels else 1 - entry["score"]
        for entry in answer["scores"]
    ]
    chance = math.prod(chances)
    if not abs(answer["score"] - chance) <= ROUNDING:
        return f"the score is {answer['score']:g}, the scores of all labels give {chance:g}"
    return None


def _check_label(answer: Answer, is_complete: bool) -> str | None:
    """Check a class: its score is the best, and all scores sum to 1."""
    scores = answer["scores"]
    total = math.fsum(entry["score"] for entry in scores)
    if total > 1 + MAX_SUM_ERROR or (is_complete and total < 1 - MAX_SUM_ERROR):
        return f"the scores of {len(scores)} classes sum to {total:.4f}"
    if answer["label"] != scores[0]["label"]:
        return f"the label is {answer['label']}, the best score is that of {scores[0]['label']}"
    if answer["score"] != scores[0]["score"]:
        return f"the score is {answer['score']:g}, the best score {scores[0]['score']:g}"
    return None


def _check_abstention(answer: Answer, limits: tuple[float, float]) -> str | None:
    """Check whether it abstained; `limits`: the threshold, the lowest answered score."""
    threshold, lowest = limits
    is_below = answer["score"] < threshold
    may_abstain = is_below or answer["score"] < lowest
    if answer["abstained"] is not is_below and not (answer["abstained"] is True and may_abstain):
        return (
            f"abstained is {answer['abstained']} at a score of {answer['score']:g} "
            f"and a threshold of {threshold:g}"
        )
    return None


def _check_doubt(answer: Answer, is_complete: bool) -> str | None:
    """Check both parts of an ensemble's doubt, in nats."""
    if "epistemic" not in answer:
        return None
    epistemic, aleatoric = answer["epistemic"], answer["aleatoric"]
    for name in ("epistemic", "aleatoric"):
        if not math.isfinite(answer[name]) or answer[name] < 0:
            return f"{name} is {answer[name]:g}, and must be at least 0"
    values = [entry["score"] for entry in answer["scores"]]
    entropy = -math.fsum(value * math.log(value) for value in values if value > 0)
    if is_complete and abs(epistemic + aleatoric - entropy) > ROUNDING:
        return (
            f"epistemic and aleatoric sum to {epistemic + aleatoric:.4f}, "
            f"the entropy of the scores is {entropy:.4f}"
        )
    return None
