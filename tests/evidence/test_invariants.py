"""What a task knows of every answer, whatever the truth is; the gate `answers` reads it."""

import math
from typing import Any

import pytest

from plumbline.tasks.text_classification import scoring as texts
from tasks.signal_extraction import scoring as signals


def answer_text(*scores: tuple[str, float], **changes: Any) -> dict[str, list[Any]]:
    """One answer, consistent apart from `changes`."""
    rows = [{"label": label, "score": score} for label, score in scores]
    first = rows[0] if rows else {"label": "", "score": 0.0}
    answer = {"label": first["label"], "score": first["score"], "scores": rows, "abstained": False}
    return {name: [value] for name, value in (answer | changes).items()}


SOUND = (("login", 0.7), ("refund", 0.2), ("billing", 0.1))
ENTROPY = -sum(score * math.log(score) for _, score in SOUND)


def test_a_sound_answer_keeps_every_rule() -> None:
    for params in ({"top_k": 1000}, {"top_k": 3}, {}, {"top_k": 3, "threshold": 0.7}):
        assert texts.check_answers({"text": ["hi"]}, params, answer_text(*SOUND)) == []
    some = answer_text(*SOUND[:2])
    assert texts.check_answers({"text": ["hi"]}, {"top_k": 2}, some) == []
    abstains = answer_text(*SOUND, abstained=True)
    assert texts.check_answers({"text": ["hi"]}, {"threshold": 0.9}, abstains) == []
    doubts = answer_text(*SOUND, epistemic=0.1, aleatoric=ENTROPY - 0.1)
    assert texts.check_answers({"text": ["hi"]}, {"top_k": 1000}, doubts) == []
    cut = answer_text(*SOUND[:2], epistemic=0.1, aleatoric=ENTROPY - 0.1)
    assert texts.check_answers({"text": ["hi"]}, {"top_k": 2}, cut) == []
    tie = answer_text(("a", 0.5), ("b", 0.5))
    assert texts.check_answers({"text": ["hi"]}, {"top_k": 1000}, tie) == []


def test_a_bundle_may_abstain_below_a_threshold_of_its_own() -> None:
    unsure = answer_text(("login", 0.5), ("refund", 0.3), ("billing", 0.2), abstained=True)
    sure = answer_text(*SOUND)
    both = {name: [*unsure[name], *sure[name]] for name in sure}
    columns = {"text": ["hm", "hi"]}
    assert texts.check_answers(columns, {"top_k": 1000}, both) == []
    swapped = both | {"abstained": [False, True]}  # the surer one is left, the other answered
    (problem,) = texts.check_answers(columns, {"top_k": 1000}, swapped)
    assert problem.startswith("row 1 ('hi'): abstained is True at a score of 0.7")


BROKEN = {
    "epistemic is -0.1, and must be at least 0": answer_text(
        *SOUND, epistemic=-0.1, aleatoric=ENTROPY + 0.1
    ),
    "aleatoric is nan": answer_text(*SOUND, epistemic=0.1, aleatoric=float("nan")),
    "epistemic and aleatoric sum to 0.9018, the entropy of the scores is 0.8018": answer_text(
        *SOUND, epistemic=0.1, aleatoric=ENTROPY
    ),
    "the label is refund, the best score is that of login": answer_text(*SOUND, label="refund"),
    "the score is 0.9, the best score 0.7": answer_text(*SOUND, score=0.9),
    "the score of login is 1.2, which is not a probability": answer_text(
        ("login", 1.2), ("refund", -0.2)
    ),
    "the score of b is nan": answer_text(("a", 1.0), ("b", float("nan"))),
    "the scores are not sorted": answer_text(SOUND[1], SOUND[0], SOUND[2]),
    "the scores of 2 classes sum to 1.4000": answer_text(("a", 0.7), ("b", 0.7)),
    "the scores of 2 classes sum to 0.9000": answer_text(*SOUND[:2]),
    "abstained is True at a score of 0.7": answer_text(*SOUND, abstained=True),
    "a class has two scores": answer_text(("a", 0.5), ("a", 0.5)),
    "no class has a score": answer_text(),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_rule_names_the_row_and_the_rule(problem: str) -> None:
    sound = answer_text(*SOUND)
    if "epistemic" in BROKEN[problem]:
        sound = answer_text(*SOUND, epistemic=0.0, aleatoric=ENTROPY)
    both = {name: [*sound[name], *BROKEN[problem][name]] for name in sound}
    columns = {"text": ["fine", "where is my parcel"]}
    (found,) = texts.check_answers(columns, {"top_k": 1000, "threshold": 0.1}, both)
    assert found.startswith("row 1 ('where is my parcel'): ")
    assert problem in found


def test_too_few_answers_are_a_broken_rule() -> None:
    (found,) = texts.check_answers({"text": ["one", "two"]}, {}, answer_text(*SOUND))
    assert found == "label: 1 answers to 2 texts"


SIGNAL = {"signal": [[0.1, 0.2], [0.3, 0.4]], "frequency_hz": [3.0, 3.0]}
FOUND = {"component": [[0.1, 0.1], [0.2, 0.2]], "state": [[1.0], [2.0]]}


def test_a_sound_signal_keeps_every_rule() -> None:
    assert signals.check_answers(SIGNAL, {}, FOUND) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"component": [[0.1, 0.1], [0.2]]}, "row 1: 1 samples answer 2"),
        ({"component": [[0.1, 0.1], [0.2, float("inf")]]}, "row 1: a sample of the component"),
        ({"state": [[1.0], [float("nan")]]}, "row 1: a number of the state is not finite"),
        ({"state": [[1.0], [1.0, 2.0]]}, "row 1: a state of 2 numbers"),
    ],
)
def test_a_broken_signal_names_the_row(change: dict[str, Any], problem: str) -> None:
    (found,) = signals.check_answers(SIGNAL, {}, FOUND | change)
    assert found.startswith(problem)
