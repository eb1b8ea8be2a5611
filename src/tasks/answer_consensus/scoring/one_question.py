"""How one question went, round by round: who was asked, what came, what the shares became."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.task import Predictor
from tasks.answer_consensus.data import (
    Answers,
    AnswerSetting,
    AskedCourse,
    find_normaliser,
    list_columns,
)

if TYPE_CHECKING:
    import pandas as pd

MAX_CHARS = 24  # of an answer


def trace_question(
    setting: AnswerSetting, answers: Answers, course: AskedCourse, predictor: Predictor
) -> dict[str, "pd.DataFrame"]:
    """Follow the question with the most different answers of those that took most rounds.

    `one_question` has a row for each round; `one_question_shares` one for each round and answer,
    with the share that it had then, and whether it is right.
    """
    import pandas as pd

    row = _choose_question(setting, answers, course)
    asked = course.asked[row]
    costs = setting.compute_costs(answers)[row]
    told, shares = [], []
    for number, votes in enumerate(_ask_again(setting, answers, row, asked, predictor), start=1):
        place = asked[number - 1]
        told.append(
            {
                "round": number,
                "agent": setting.agents[place],
                "answer": shorten(str(answers.answers[row, place])),
                "cost": float(costs[place]),
                "best": shorten(str(votes[0]["answer"])) if votes else "",
                "confidence": votes[0]["share"] if votes else 0.0,
            }
        )
        shares += _list_shares(setting, str(answers.golds[row]), number, votes)
    return {
        "one_question": pd.DataFrame(
            told, columns=["round", "agent", "answer", "cost", "best", "confidence"]
        ),
        "one_question_shares": pd.DataFrame(
            shares, columns=["round", "answer", "share", "is_right"]
        ),
    }


def shorten(text: str) -> str:
    """One line of at most MAX_CHARS, with the end of a longer text, where its answer is."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= MAX_CHARS else f"…{plain[1 - MAX_CHARS :]}"


def _choose_question(setting: AnswerSetting, answers: Answers, course: AskedCourse) -> int:
    normalise = find_normaliser(setting.normalise)
    ranks = []
    for row, places in enumerate(course.asked):
        different = {normalise(str(answers.answers[row, place])) for place in places} - {""}
        ranks.append((len(places), len(different)))
    return max(range(len(ranks)), key=lambda row: ranks[row])


def _ask_again(
    setting: AnswerSetting,
    answers: Answers,
    row: int,
    asked: Sequence[int],
    predictor: Predictor,
) -> list[list[dict[str, float | str]]]:
    """Return the votes after each round."""
    rounds = [asked[:size] for size in range(1, len(asked) + 1)]
    if not rounds:
        return []
    repeated = answers.take(np.full(len(rounds), row))
    columns = list_columns(setting, repeated, rounds, [0.0] * len(rounds))
    votes: list[list[dict[str, float | str]]] = predictor.predict(columns)["votes"]
    return votes


def _list_shares(
    setting: AnswerSetting, gold: str, number: int, votes: Sequence[dict[str, float | str]]
) -> list[dict[str, object]]:
    normalise = find_normaliser(setting.normalise)
    return [
        {
            "round": number,
            "answer": normalise(str(vote["answer"])),
            "share": float(vote["share"]),
            "is_right": normalise(str(vote["answer"])) == normalise(gold),
        }
        for vote in votes
    ]
