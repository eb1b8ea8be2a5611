"""How tasks score one live answer by what was right, with `score_answer`."""

import json
from typing import Any

import pytest

from tasks.answer_consensus.scoring import score_answer as score_consensus
from tasks.sequence_bayes.scoring import score_answer as score_sequence
from tasks.signal_extraction.scoring import score_answer as score_signal

HALF = [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("score_answer", "answer", "truth", "expected"),
    [
        (score_consensus, {"ask": "", "answer": "Paris"}, "paris", 1.0),
        (score_consensus, {"ask": "", "answer": "Rome"}, "Paris", 0.0),
        (score_sequence, {"probabilities": [0.1, 0.7, 0.2]}, "1", 0.7),
        (score_signal, {"component": HALF}, json.dumps(HALF), 1.0),
        (score_signal, {"component": [0.0] * 3}, json.dumps(HALF), 0.0),
        (score_signal, {"component": [-9.0] * 3}, json.dumps(HALF), 0.0),
    ],
)
def test_an_answer_has_a_score(
    score_answer: Any, answer: dict[str, Any], truth: str, expected: float
) -> None:
    assert score_answer(answer, truth) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score_answer", "answer", "truth"),
    [
        (score_consensus, {"ask": "agent_2", "answer": ""}, "Paris"),
        (score_sequence, {"probabilities": [0.1, 0.7, 0.2]}, "3"),
        (score_sequence, {"probabilities": [0.1, 0.7, 0.2]}, "-1"),
        (score_sequence, {"probabilities": [0.1, 0.7, 0.2]}, "b"),
        (score_signal, {"component": HALF}, "[1, 2]"),
        (score_signal, {"component": HALF}, "[0, 0, 0]"),
    ],
)
def test_a_truth_that_fits_no_answer_is_an_error(
    score_answer: Any, answer: dict[str, Any], truth: str
) -> None:
    with pytest.raises((ValueError, LookupError)):
        score_answer(answer, truth)
