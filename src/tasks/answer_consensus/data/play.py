"""Ask and tell: a predictor is shown the answers that it asked for, and no others.

All questions are open at first, nothing is known of them, and each has the whole budget. In each
round the predictor sees what is known; where it asks an agent, that answer is added and paid for,
and where it asks nobody the question is closed. An answer that was not paid for is never among the
columns that it gets.

A champion of an earlier ingest counts with the agents and costs of that time. Where it asks an
agent that is gone, or is too dear now, the question is closed with the answer that it has.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plumbline.contract.task import Columns
from tasks.answer_consensus.data.inputs import list_columns
from tasks.answer_consensus.data.storage import AnswerSetting
from tasks.answer_consensus.data.tables import Answers

NO_CAP = 1e6  # dollars of a question where the setting has no cap


@dataclass(frozen=True)
class AskedCourse:
    """What a predictor asked and answered, question by question [Q]."""

    asked: list[list[int]]  # places of the agents, in the order of asking
    answers: list[str]
    confidences: np.ndarray  # [Q]
    cut_short: np.ndarray  # [Q], whether it asked last for an agent that is gone or too dear

    def sum_costs(self, costs: np.ndarray) -> np.ndarray:
        """Add up `costs` [Q, A] of the answers that were asked for [Q]."""
        sums = [float(costs[row, places].sum()) for row, places in enumerate(self.asked)]
        return np.array(sums)


def play(
    setting: AnswerSetting,
    answers: Answers,
    predictor: Any,
    stop_at: float | None = None,
) -> AskedCourse:
    """Let `predictor` ask and answer every question; no question may cost more than the cap.

    An answer costs what its agent costs in the mean. ValueError where the predictor asks an agent
    that it asked before, or, if it was trained in this setting, one that does not exist or that is
    beyond what is left.
    """
    num_questions = len(answers.ids)
    cap = setting.max_cost
    asked: list[list[int]] = [[] for _ in range(num_questions)]
    # Sums of the same costs differ by rounding.
    left = [NO_CAP if cap is None else cap * (1 + 1e-9)] * num_questions
    is_strict = not _has_other_setting(setting, predictor)
    cut_short = np.zeros(num_questions, bool)
    final: list[tuple[str, float]] = [("", 0.0)] * num_questions
    still_open = list(range(num_questions))
    for _ in range(len(setting.agents) + 1):
        if not still_open:
            break
        columns = list_columns(
            setting,
            answers.take(np.array(still_open)),
            [asked[row] for row in still_open],
            [left[row] for row in still_open],
        )
        replies = _ask(predictor, columns, stop_at)
        opened = []
        for place, row in enumerate(still_open):
            final[row] = (replies["answer"][place], float(replies["confidence"][place]))
            agent = replies["ask"][place]
            if not agent:
                continue
            problem = _find_problem(setting, agent, left[row])
            if problem and is_strict:
                raise ValueError(problem)
            if problem:
                cut_short[row] = True
                continue
            left[row] -= _add_agent(setting, agent, asked[row])
            opened.append(row)
        still_open = opened
    if still_open:
        raise ValueError(f"question {answers.ids[still_open[0]]}: asks on when all have answered")
    confidences = np.array([confidence for _, confidence in final])
    return AskedCourse(asked, [answer for answer, _ in final], confidences, cut_short)


def _ask(predictor: Any, columns: Columns, stop_at: float | None) -> dict[str, list[Any]]:
    if stop_at is None:
        answers: dict[str, list[Any]] = predictor.predict(columns)
    else:
        answers = predictor.predict(columns, stop_at=stop_at)
    return answers


def _has_other_setting(setting: AnswerSetting, predictor: Any) -> bool:
    """Whether `predictor` says that it was trained with other agents or costs."""
    costs = getattr(predictor, "costs", None)
    if costs is None:
        return False
    return (list(predictor.agents), list(costs)) != (setting.agents, setting.costs)


def _find_problem(setting: AnswerSetting, agent: str, left: float) -> str | None:
    """Say why `agent` cannot be asked; None where it can."""
    if agent not in setting.agents:
        return f"it asks {agent!r}, and data.agents has no such agent"
    cost = setting.costs[setting.agents.index(agent)]
    if cost > left:
        return f"it asks {agent}, which costs {cost:.3g}, with {left:.3g} left"
    return None


def _add_agent(setting: AnswerSetting, agent: str, asked: list[int]) -> float:
    """Add `agent` to those that were asked, and return its cost."""
    place = setting.agents.index(agent)
    if place in asked:
        raise ValueError(f"it asks {agent} twice for one question")
    asked.append(place)
    return setting.costs[place]
