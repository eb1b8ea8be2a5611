"""Scores by ask and tell, and the table for the report."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from tasks.answer_consensus.data.play import AskedCourse, play
from tasks.answer_consensus.data.storage import AnswerSetting, read_answers, read_setting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.predictor import find_normaliser, normalise_case
from tasks.answer_consensus.scoring.baselines import find_possible

if TYPE_CHECKING:
    import pandas as pd

NOTHING = "(no answer)"


def score_answer(answer: Mapping[str, Any], truth: str) -> float:
    """Return 1 for the right answer to a question, but for case; ValueError where it asks first."""
    if answer["ask"]:
        raise ValueError("it asks another agent first; label the last row of a question")
    return float(normalise_case(answer["answer"]) == normalise_case(truth))


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every question of `split`; ValueError where the predictor asks what it may not.

    `cut_short` is the share of questions on which a champion of an earlier ingest asks an agent
    that is gone, or is too dear now. `any_right`: on which any agent is right.
    `cost` is what the answers that were asked for cost by their own tokens, in dollars.
    """
    setting = read_setting(examples)
    answers = read_answers(examples, split)
    course = play(setting, answers, predictor)
    per_example = _rate_course(setting, answers, course)
    num_asked = per_example["asked"]
    tokens = course.sum_costs(answers.tokens)
    metrics = {
        "accuracy": float(per_example["accuracy"].mean()),
        "cost": float(per_example["cost"].mean()),
        "tokens": float(tokens.mean()),
        "asked": float(num_asked.mean()),
        "one_agent": float((num_asked <= 1).mean()),
        "cut_short": float(course.cut_short.mean()),
        "any_right": float(find_possible(setting, answers).mean()),
    }
    return Scores(per_example, metrics, {"agents": _describe_agents(setting, answers)})


def _rate_course(
    setting: AnswerSetting, answers: Answers, course: AskedCourse
) -> dict[str, np.ndarray]:
    hits = _compare(setting, course.answers, answers.golds)
    normalise = find_normaliser(setting.normalise)
    predicted = [normalise(answer) or NOTHING for answer in course.answers]
    return {
        "id": answers.ids,
        "accuracy": hits.astype(float),
        "confidence": course.confidences,
        "predicted": np.array(predicted, object),
        "actual": np.array([normalise(gold) for gold in answers.golds], object),
        "cost": course.sum_costs(setting.compute_costs(answers)),
        "asked": np.array([float(len(places)) for places in course.asked]),
    }


def _compare(setting: AnswerSetting, given: list[str], golds: np.ndarray) -> np.ndarray:
    normalise = find_normaliser(setting.normalise)
    pairs = zip(given, golds, strict=True)
    return np.array([normalise(answer) == normalise(gold) for answer, gold in pairs])


def _describe_agents(setting: AnswerSetting, answers: Answers) -> "pd.DataFrame":
    import pandas as pd

    costs = setting.compute_costs(answers).mean(axis=0)
    shares = [_compare(setting, list(given), answers.golds).mean() for given in answers.answers.T]
    return pd.DataFrame(
        {"agent": setting.agents, "model": setting.models, "accuracy": shares, "cost": costs}
    )
