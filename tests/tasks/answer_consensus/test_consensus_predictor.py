"""The policy as it is served: whom it asks, what it says, what it refuses."""

import re
from typing import Any

import pytest

from tasks.answer_consensus.predictor import Predictor
from tasks.answer_consensus.scoring import check_answers

CONFIG: dict[str, Any] = {
    "agents": ["large", "medium", "small"],
    "costs": [10.0, 2.0, 1.0],
    "normalise": "number",
    "rank": [0, 1, 2],
    "accuracy": [0.9, 0.7, 0.6],
    "agreement": [[1.0, 0.2, 0.2], [0.2, 1.0, 0.2], [0.2, 0.2, 1.0]],
    "plan": [2, 1, 0],
    "by_value": False,
    "stop_at": 0.8,
    "scorer": {"favour": [3.0, 1.2, 1.0], "none": 0.0, "none_each": [0.1, 0.1, 0.1]},
}


def ask(agents: list[str], answers: list[str], budget: float = 20.0, **config: Any) -> dict:
    predictor = Predictor(CONFIG | config)
    columns = {"agents": [agents], "answers": [answers], "budget": [budget]}
    told = predictor.predict(columns)
    assert check_answers(columns, {}, told) == []
    return {name: values[0] for name, values in told.items()}


def test_cheap_ones_are_asked_first_until_it_is_sure() -> None:
    assert ask([], [])["ask"] == "small"
    assert ask(["small"], ["7"])["ask"] == "medium"
    assert ask(["small", "medium"], ["7", "8"])["ask"] == "large"
    agreed = ask(["small", "medium"], ["7", "7.0"])
    assert (agreed["ask"], agreed["answer"]) == ("", "7.0")  # as the better one of them wrote it
    assert agreed["confidence"] >= 0.8


def test_only_who_can_be_paid_is_asked() -> None:
    assert ask([], [], budget=0.5)["ask"] == ""
    assert ask(["small"], ["7"], budget=1.9)["ask"] == ""
    assert ask(["small"], ["7"], budget=2.0)["ask"] == "medium"


def test_by_value_the_next_agent_is_the_one_that_makes_surest_for_its_price() -> None:
    assert ask([], [], by_value=True)["ask"] == "small"
    cheap = ask([], [], by_value=True, costs=[0.5, 2.0, 1.0])
    assert cheap["ask"] == "large"


def test_nothing_known_is_an_empty_answer_and_no_error() -> None:
    told = ask([], [], budget=0.0)
    assert told == {"ask": "", "answer": "", "confidence": 0.0, "votes": []}
    silent = ask(["small", "medium"], ["", "I do not know"], budget=0.0)
    assert (silent["answer"], silent["confidence"]) == ("", 0.0)


def test_order_and_text_mean_nothing() -> None:
    one = ask(["small", "medium", "large"], ["7", "8", "7"])
    other = ask(["large", "small", "medium"], ["7", "7", "8"])
    renamed = ask(["large", "small", "medium"], ["900", "900", "3"])
    assert one == other
    assert renamed["confidence"] == one["confidence"]
    assert [vote["share"] for vote in renamed["votes"]] == [vote["share"] for vote in one["votes"]]


def test_of_equal_shares_the_best_agent_decides() -> None:
    scorer = CONFIG["scorer"] | {"favour": [1.0, 1.0, 1.0]}
    assert ask(["small", "medium"], ["7", "8"], budget=0.0, scorer=scorer)["answer"] == "8"
    assert ask(["medium", "small"], ["8", "7"], budget=0.0, scorer=scorer)["answer"] == "8"


def test_another_confidence_to_stop_at_may_be_asked_for() -> None:
    predictor = Predictor(CONFIG)
    columns = {"agents": [["small", "medium"]], "answers": [["7", "7"]], "budget": [20.0]}
    assert predictor.predict(columns, stop_at=0.999)["ask"] == ["large"]
    assert predictor.predict(columns, stop_at=0.5)["ask"] == [""]
    with pytest.raises(ValueError, match="stop_at: expected a number from 0 to 1, found 2"):
        predictor.predict(columns, stop_at=2)


@pytest.mark.parametrize(
    ("agents", "answers", "budget", "message"),
    [
        (["gpt"], ["7"], 1.0, "row 1: agents: 'gpt'; the model knows large, medium, small"),
        (["small", "small"], ["7", "8"], 1.0, "row 1: agents: 'small' is there twice"),
        (["small"], ["7", "8"], 1.0, "row 1: 1 agents and 2 answers"),
        (["small"], ["7"], None, "row 1: budget: expected a number, found None"),
        (["small"], ["7"], float("nan"), "row 1: budget: expected a number, found nan"),
        (["small"], ["7"], "1", "row 1: budget: expected a number, found '1'"),
        (["small"], [7], 1.0, "row 1: answers: expected texts, found 7"),
        ("small", ["7"], 1.0, "row 1: agents: expected an array of texts"),
    ],
)
def test_a_bad_row_is_named(agents: Any, answers: Any, budget: Any, message: str) -> None:
    columns = {"agents": [[], agents], "answers": [[], answers], "budget": [1.0, budget]}
    with pytest.raises(ValueError, match=re.escape(message)):
        Predictor(CONFIG).predict(columns)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ask": ["small"]}, "asks small, which has answered"),
        ({"confidence": [1.2]}, "not between 0 and 1"),
        ({"answer": ["9"]}, "not those of the first vote"),
        ({"votes": [[{"answer": "9", "share": 0.5}]], "answer": ["9"]}, "no agent gave"),
        ({"votes": [[]]}, "and no agent gave an answer"),
    ],
)
def test_an_answer_that_contradicts_itself_is_named(changes: dict, problem: str) -> None:
    columns = {"agents": [["small"]], "answers": [["7"]], "budget": [1.0]}
    votes = [[{"answer": "7", "share": 0.5}]]
    sound = {"ask": [""], "answer": ["7"], "confidence": [0.5], "votes": votes}
    assert check_answers(columns, {}, sound) == []
    assert problem in check_answers(columns, {}, sound | changes)[0]
