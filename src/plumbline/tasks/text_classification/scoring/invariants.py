"""What every answer of a text classifier must be, whatever the text; and the longest text."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.contract.task import Columns, Predictor
from plumbline.tasks.text_classification.predictor import MAX_CHARS
from plumbline.tasks.text_classification.scoring.set_invariants import (
    check_ranking,
    check_set,
    find_highest_refused,
)

MAX_SUM_ERROR = 1e-3  # of all of them
MAX_ENTROPY_ERROR = 1e-6  # nats
NUM_SHOWN = 60  # characters of a text that a message shows
WORDS = "I was charged twice for one order and nobody answers. "


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    The label is that of the best score, scores are probabilities, sorted, and their sum is 1 over
    all classes; for sets of labels see `set_invariants`. An answer has abstained if its score is
    below the threshold of the call, or below that of the bundle: then it is below the score of
    every row that was answered. Both parts of an ensemble's doubt are at least 0, and their sum is
    the entropy of its scores.
    """
    texts = columns["text"]
    wrong_size = [name for name, values in answers.items() if len(values) != len(texts)]
    if wrong_size:
        return [f"{wrong_size[0]}: {len(answers[wrong_size[0]])} answers to {len(texts)} texts"]
    answered = zip(answers["score"], answers["abstained"], strict=True)
    lowest = min((score for score, abstained in answered if not abstained), default=math.inf)
    limits = params.get("threshold", 0.0), lowest
    highest = find_highest_refused(answers) if "labels" in answers else {}
    problems = []
    for row, text in enumerate(texts):
        answer = {name: values[row] for name, values in answers.items()}
        if "labels" in answer:
            problem = check_set(answer, params.get("top_k"), highest)
        else:
            problem = _check_scores(answer["scores"], params.get("top_k")) or _check_label(answer)
        problem = problem or _check_abstention(answer, limits)
        if not problem and "epistemic" in answer:
            problem = _check_doubt(answer, params.get("top_k"))
        if problem:
            problems.append(f"row {row} ({text!r:.{NUM_SHOWN}}): {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[str]]:
    """Return a text of ordinary words with as many characters as the predictor accepts."""
    text = WORDS * (MAX_CHARS // len(WORDS) + 1)
    return {"text": [text[:MAX_CHARS]]}


def _check_scores(scores: Sequence[Mapping[str, Any]], top_k: int | None) -> str | None:
    problem = check_ranking(scores)
    if problem:
        return problem
    values = [entry["score"] for entry in scores]
    total = math.fsum(values)
    is_complete = top_k is not None and len(values) < top_k
    if total > 1 + MAX_SUM_ERROR or (is_complete and total < 1 - MAX_SUM_ERROR):
        return f"the scores of {len(values)} classes sum to {total:.4f}"
    return None


def _check_label(answer: Mapping[str, Any]) -> str | None:
    best = answer["scores"][0]
    if answer["label"] != best["label"]:
        return f"the label is {answer['label']}, the best score is that of {best['label']}"
    if answer["score"] != best["score"]:
        return f"the score is {answer['score']:g}, the best score {best['score']:g}"
    return None


def _check_abstention(answer: Mapping[str, Any], limits: tuple[float, float]) -> str | None:
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


def _check_doubt(answer: Mapping[str, Any], top_k: int | None) -> str | None:
    """Check both parts of an ensemble's doubt, in nats."""
    epistemic, aleatoric = answer["epistemic"], answer["aleatoric"]
    for name in ("epistemic", "aleatoric"):
        if not math.isfinite(answer[name]) or answer[name] < 0:
            return f"{name} is {answer[name]:g}, and must be at least 0"
    values = [entry["score"] for entry in answer["scores"]]
    is_complete = top_k is not None and len(values) < top_k
    entropy = -math.fsum(value * math.log(value) for value in values if value > 0)
    if is_complete and abs(epistemic + aleatoric - entropy) > MAX_ENTROPY_ERROR:
        return (
            f"epistemic and aleatoric sum to {epistemic + aleatoric:.4f}, "
            f"the entropy of the scores is {entropy:.4f}"
        )
    return None
