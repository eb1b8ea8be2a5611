"""The best that is possible, question by question."""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Bound
from tasks.answer_consensus.data import (
    Answers,
    AnswerSetting,
    find_normaliser,
    read_answers,
    read_paid_setting,
)
from tasks.answer_consensus.params import ConsensusParams


def compute_bound(params: ConsensusParams, examples: Path, split: str) -> Bound:
    """Return 1 for each question that an agent within the cap answers right, else 0.

    It is exact: who answers otherwise has invented the answer, or knows gold.
    """
    setting = read_paid_setting(params, examples)
    answers = read_answers(examples, split)
    reason = "only an answer that some agent gave, and that the cap pays for, can be right"
    return Bound(find_possible(setting, answers), reason, ids=answers.ids, exact=True)


def find_possible(setting: AnswerSetting, answers: Answers) -> np.ndarray:
    """Return whether any agent that the cap pays for is right, 0 or 1 [Q]."""
    normalise = np.vectorize(find_normaliser(setting.normalise), otypes=[object])
    is_paid = np.array(setting.costs) <= setting.purse * (1 + 1e-9)
    hits = normalise(answers.answers) == normalise(answers.golds)[:, None]
    possible: np.ndarray = (hits & is_paid).any(axis=1).astype(float)
    return possible
