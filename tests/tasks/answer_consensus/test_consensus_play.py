"""Ask and tell: what was not paid for is never in the predictor's hands, nor in a client's."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.checkouts import ROOT
from tests.support.small_answers import small_params
from tests.support.task_examples import write_examples

from tasks.answer_consensus.data.play import NO_CAP, play
from tasks.answer_consensus.data.storage import AnswerSetting, read_answers, read_setting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.models import build_learner
from tasks.answer_consensus.predictor import load

Asked = tuple[AnswerSetting, Answers]


@pytest.fixture
def recorded(tmp_path: Path) -> Asked:
    examples = write_examples(small_params(), tmp_path)
    return read_setting(examples), read_answers(examples, "test").take(np.arange(40))


class Scripted:
    """Asks the agents of a list in turn, and keeps what it was shown."""

    def __init__(self, agents: list[str]) -> None:
        self.agents = agents
        self.shown: list[dict[str, Any]] = []

    def predict(self, columns: dict[str, Any], **_: Any) -> dict[str, Any]:
        self.shown.append(columns)
        done = [len(asked) for asked in columns["agents"]]
        return {
            "ask": [self.agents[n] if n < len(self.agents) else "" for n in done],
            "answer": [given[-1] if given else "" for given in columns["answers"]],
            "confidence": [0.5] * len(done),
            "votes": [[] for _ in done],
        }


def test_the_columns_hold_what_was_paid_and_nothing_else(recorded: Asked) -> None:
    setting, answers = recorded
    predictor = Scripted(["small", "large"])
    course = play(setting, answers, predictor)
    assert course.asked == [[4, 0]] * 40
    for number, columns in enumerate(predictor.shown):
        assert set(columns) == {"agents", "answers", "budget"}
        assert all(agents == ["small", "large"][:number] for agents in columns["agents"])
        for row, given in enumerate(columns["answers"]):
            assert given == [answers.answers[row, place] for place in (4, 0)[:number]]
    left = predictor.shown[2]["budget"][0]
    assert left == pytest.approx(NO_CAP - setting.costs[4] - setting.costs[0], abs=1e-6)
    assert course.answers == [str(text) for text in answers.answers[:, 0]]


def test_what_was_asked_is_paid_by_its_own_tokens(recorded: Asked) -> None:
    setting, answers = recorded
    costs = setting.compute_costs(answers)
    course = play(setting, answers, Scripted(["medium"]))
    assert course.sum_costs(costs) == pytest.approx(answers.tokens[:, 2] * 0.01 / 1000)


@pytest.mark.parametrize(
    ("agents", "cap", "message"),
    [
        (["large"], 0.005, "it asks large, which costs 0.01, with 0.005 left"),
        (["small", "small"], None, "it asks small twice"),
        (["oracle"], None, "'oracle', and data.agents has no such agent"),
    ],
)
def test_a_policy_that_asks_what_it_may_not_cannot_be_scored(
    recorded: Asked, agents: list[str], cap: float | None, message: str
) -> None:
    setting, answers = recorded
    with pytest.raises(ValueError, match=message):
        play(replace(setting, max_cost=cap), answers, Scripted(agents))


class FormerChampion:
    """Asks `plan`, as far as the budget pays for it at the costs of its own training."""

    def __init__(self, agents: list[str], costs: list[float], plan: list[str]) -> None:
        self.agents, self.costs, self._plan = agents, costs, plan

    def predict(self, columns: dict[str, Any], **_: Any) -> dict[str, Any]:
        costs = dict(zip(self.agents, self.costs, strict=True))
        asks = []
        for asked, budget in zip(columns["agents"], columns["budget"], strict=True):
            rest = [name for name in self._plan if name not in asked and costs[name] <= budget]
            asks.append(rest[0] if rest else "")
        given = columns["answers"]
        return {
            "ask": asks,
            "answer": [answers[-1] if answers else "" for answers in given],
            "confidence": [0.5] * len(given),
            "votes": [[] for _ in given],
        }


def test_a_champion_that_asks_what_is_too_dear_now_answers_with_what_it_has(
    recorded: Asked,
) -> None:
    setting, answers = recorded
    old_costs = [cost / 1.1 for cost in setting.costs]
    champion = FormerChampion(setting.agents, old_costs, ["small", "large"])
    cap = setting.costs[4] + 0.95 * setting.costs[0]
    capped = replace(setting, max_cost=cap)
    course = play(capped, answers, champion)
    assert course.asked == [[4]] * 40
    assert course.cut_short.all()
    assert course.answers == [str(text) for text in answers.answers[:, 4]]
    with pytest.raises(ValueError, match="it asks large, which costs"):
        play(capped, answers, Scripted(["small", "large"]))


def test_a_champion_that_asks_an_agent_that_is_gone_answers_with_what_it_has(
    recorded: Asked,
) -> None:
    setting, answers = recorded
    champion = FormerChampion(
        [*setting.agents, "oracle"], [*setting.costs, 0.01], ["medium", "oracle"]
    )
    course = play(setting, answers, champion)
    assert course.asked == [[2]] * 40
    assert course.cut_short.all()
    same = FormerChampion(setting.agents, setting.costs, ["small"])
    assert not play(setting, answers, same).cut_short.any()


TEXT = (ROOT / "docs/tasks/answer_consensus.md").read_text(encoding="utf-8")
NUM_QUESTIONS = 60


def test_the_client_asks_and_answers_as_evaluation_does(tmp_path: Path) -> None:
    examples = write_examples(small_params(), tmp_path)
    learner = build_learner(small_params(), "logit", examples)
    learner.solve()
    learner.save(tmp_path)
    predictor = load(tmp_path)
    setting = read_setting(examples)
    answers = read_answers(examples, "test").take(np.arange(NUM_QUESTIONS))
    course = play(setting, answers, predictor)
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    client: dict[str, Any] = {}
    exec(code, client)  # noqa: S102  what a reader copies
    asked: list[list[int]] = [[] for _ in answers.ids]

    def predict(row: dict[str, Any]) -> dict[str, Any]:
        reply = predictor.predict({name: [value] for name, value in row.items()})
        return {name: value for name, (value,) in reply.items()}

    def ask_gateway(agent: str, question: int) -> tuple[str, float]:
        place = setting.agents.index(agent)
        asked[question].append(place)
        return str(answers.answers[question, place]), setting.costs[place]

    purse = setting.purse * (1 + 1e-9)
    for row, answer in enumerate(course.answers):
        got = client["find_answer"](predict, ask_gateway, row, purse)
        assert got == (answer, course.confidences[row])
    assert asked == course.asked
    assert len({len(places) for places in asked}) > 1
