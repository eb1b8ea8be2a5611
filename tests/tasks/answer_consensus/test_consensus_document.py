"""The client on docs/tasks/answer_consensus.md asks and answers as evaluation does."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.checkouts import ROOT
from tests.support.small_answers import small_params
from tests.support.task_examples import write_examples

from tasks.answer_consensus.data.play import play
from tasks.answer_consensus.data.storage import read_answers, read_setting
from tasks.answer_consensus.models import build_learner
from tasks.answer_consensus.predictor import load

TEXT = (ROOT / "docs/tasks/answer_consensus.md").read_text(encoding="utf-8")
NUM_QUESTIONS = 60


def test_the_client_asks_and_answers_as_evaluation_does(tmp_path: Path) -> None:
    examples = write_examples(small_params(), tmp_path)
    learner = build_learner(small_params(), "logit", examples)
    assert learner.solve is not None
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
