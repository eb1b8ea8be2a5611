"""A policy against real servers: cost, deadline, failures, several at once, a second round."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.consulting.chat_server import ChatServer, run_chat_server
from tests.support.consulting.questions import (
    COST,
    QUESTION,
    build_file,
    consult_on,
    consult_once,
    describe_endpoint,
)

from plumbline_consult.consultation import Question


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with run_chat_server() as server:
        yield server


def list_agents(chat: ChatServer, *models: str, **more: object) -> dict[str, dict[str, object]]:
    return {f"agent-{model}": describe_endpoint(chat.url, model, **more) for model in models}


def test_the_money_adds_up(chat: ChatServer, tmp_path: Path) -> None:
    chat.scripts |= {"a": ["say 1"], "b": ["no-usage 2"], "c": ["status 500"], "d": ["raw {}"]}
    file = build_file(list_agents(chat, "a", "b", "c", "d", attempts=1))
    result = consult_once(file, tmp_path)
    costs = {outcome.agent: outcome.cost for outcome in result.outcomes}
    assert costs["agent-a"] == pytest.approx((10 * 0.1 + 5 * 0.2) / 1000)
    estimated = len("Q: " + QUESTION.text) // 4 + 1
    assert costs["agent-b"] == pytest.approx((estimated * 0.1 + 1 * 0.2) / 1000)
    assert costs["agent-c"] == costs["agent-d"] == 0
    assert result.cost == pytest.approx(sum(costs.values()))
    assert result.num_tokens == 15 + estimated + 1


def test_the_cap_on_cost_ends_it(chat: ChatServer, tmp_path: Path) -> None:
    file = build_file(list_agents(chat, "1", "2", "3", "4"), max_cost=0.005)
    result = consult_once(file, tmp_path)
    assert len(result.outcomes) == 2  # 0.002 each: the rest does not pay for a third
    assert result.ending == "decided"


def test_the_cap_of_evaluation_holds_live_too(chat: ChatServer, tmp_path: Path) -> None:
    """Twice the cost of an agent in all: exactly two can be asked, whatever rounding does."""
    file = build_file(list_agents(chat, "1", "2", "3", "4"))
    result = consult_once(file, tmp_path, max_cost=2 * COST)
    assert len(result.outcomes) == 2


@pytest.mark.parametrize("behaviour", ["silent", "drip"])
def test_the_deadline_gives_the_best_answer_so_far(
    chat: ChatServer, tmp_path: Path, behaviour: str
) -> None:
    chat.scripts |= {"a": ["say 42"], "b": [behaviour]}
    file = build_file(list_agents(chat, "a", "b"), deadline_s=3.0)
    result = consult_once(file, tmp_path)
    assert (result.decision.answer, result.ending) == ("42", "deadline")
    assert "deadline of 3 s" in result.message
    assert [outcome.agent for outcome in result.outcomes] == ["agent-a", "agent-b"]
    late = result.outcomes[-1]
    assert late.answer == ""
    assert "before the deadline" in late.message


def test_an_attempt_that_is_too_slow_is_repeated(chat: ChatServer, tmp_path: Path) -> None:
    chat.scripts |= {"a": ["silent", "say 42"], "b": ["say 42"]}
    result = consult_once(build_file(list_agents(chat, "a", "b", timeout_s=2)), tmp_path)
    assert [outcome.answer for outcome in result.outcomes] == ["42", "42"]
    assert chat.count("a") == 2


def test_concurrency_is_bounded_for_each_agent(chat: ChatServer, tmp_path: Path) -> None:
    chat.scripts |= {"a": ["slow 42"], "b": ["slow 42"]}
    agents = list_agents(chat, "a") | list_agents(chat, "b", max_parallel=2)
    questions = [Question(f"q{number}", f"What is {number}?") for number in range(12)]
    results = consult_on(questions, build_file(agents), tmp_path)
    assert {result.decision.answer for result in results} == {"42"}
    assert chat.most_running_of["b"] == 2


def test_a_second_round_sees_different_answers_without_names(
    chat: ChatServer, tmp_path: Path
) -> None:
    chat.scripts |= {"a": ["say 1"], "b": ["say 2"], "c": ["say 2"], "judge": ["say 2"]}
    judge = describe_endpoint(chat.url, "judge", prompt="{question}\nOthers said:\n{others}")
    file = build_file(list_agents(chat, "a", "b", "c") | {"judge": judge})
    consult_once(file, tmp_path, stop_at=0.99)
    (request,) = [request for request in chat.requests if request.model == "judge"]
    prompt = request.body["messages"][-1]["content"]
    question, _, *others = prompt.split("\n")
    assert question == QUESTION.text
    assert sorted(others) == ["- 1", "- 2"]  # two of three said 2: not shown
    assert "agent" not in prompt


def test_a_share_of_questions_is_put_to_every_agent(chat: ChatServer, tmp_path: Path) -> None:
    chat.scripts |= {name: ["say 42"] for name in "abcd"}
    judge = describe_endpoint(chat.url, "d", prompt="{question} {others}")
    file = build_file(list_agents(chat, "a", "b", "c") | {"judge": judge}, ask_all=1.0)
    result = consult_once(file, tmp_path)
    assert (result.decision.answer, result.asks_all) == ("42", True)
    asked = ["agent-a", "agent-b", "agent-c", "judge"]
    assert [outcome.agent for outcome in result.outcomes] == asked
    assert chat.requests[-1].body["messages"][-1]["content"] == f"{QUESTION.text} - 42"


def test_after_the_deadline_nothing_is_sent_and_records_name_every_agent(
    chat: ChatServer, tmp_path: Path
) -> None:
    chat.scripts["a"] = ["silent"]
    file = build_file(list_agents(chat, "a", "b"), deadline_s=2.0, ask_all=1.0)
    result = consult_once(file, tmp_path)
    assert (result.ending, chat.count("b")) == ("deadline", 0)
    assert ["deadline" in outcome.message for outcome in result.outcomes] == [True, True]
