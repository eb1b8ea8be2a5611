"""The predictor's columns: questions as far as they may be known on the way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tasks.answer_consensus.data.storage import AnswerSetting, read_answers, read_setting
from tasks.answer_consensus.data.tables import Answers


def read_inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    """Return one row for each question of a split, in order, at different points of its course.

    How many agents have answered, and which, follows from the question's digest. What is left of
    the budget is what the mean costs of these agents leave.
    """
    setting = read_setting(examples)
    answers = read_answers(examples, split)
    asked = [_pick_agents(digest, setting) for digest in answers.digests]
    budgets = [setting.purse - sum(setting.costs[place] for place in places) for places in asked]
    return list_columns(setting, answers, asked, budgets)


def list_columns(
    setting: AnswerSetting,
    answers: Answers,
    asked: Sequence[Sequence[int]],
    budgets: Sequence[float],
) -> dict[str, list[Any]]:
    """Return the columns that hold the answers of the agents that were `asked`, and no others."""
    return {
        "agents": [[setting.agents[place] for place in places] for places in asked],
        "answers": [
            [str(answers.answers[row, place]) for place in places]
            for row, places in enumerate(asked)
        ],
        "budget": list(map(float, budgets)),
    }


def _pick_agents(digest: str, setting: AnswerSetting) -> list[int]:
    """Pick the agents that have answered, by the digest of a question; all are paid for."""
    random = np.random.default_rng(int(digest[:16], 16))
    num_asked = int(random.integers(len(setting.agents) + 1))
    left = setting.purse
    picked = []
    for place in random.permutation(len(setting.agents))[:num_asked]:
        if setting.costs[place] <= left:
            left -= setting.costs[place]
            picked.append(int(place))
    return picked
