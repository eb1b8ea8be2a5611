"""What agents answered, counted: groups of equal answers, accuracy, agreement in mistakes.

Shapes: Q questions, A agents. Groups are numbered as in the predictor's states.
"""

from dataclasses import dataclass

import numpy as np

from tasks.answer_consensus.data.storage import AnswerSetting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.predictor import SILENT, UNASKED, State, find_normaliser

NONE_RIGHT = 0  # in place of the group that is right


@dataclass(frozen=True)
class Tallies:
    """The answers of one split as groups."""

    groups: np.ndarray  # [Q, A], from 1; SILENT where an agent gave no answer
    right: np.ndarray  # [Q], the group that equals gold; NONE_RIGHT where none does

    @property
    def hits(self) -> np.ndarray:
        """Whether each answer is right [Q, A]."""
        hits: np.ndarray = (self.groups == self.right[:, None]) & (self.groups > 0)
        return hits

    @property
    def accuracy(self) -> np.ndarray:
        """The share of right answers of each agent [A], by Laplace's rule: never 0 or 1."""
        accuracy: np.ndarray = (self.hits.sum(axis=0) + 1) / (len(self.hits) + 2)
        return accuracy

    @property
    def agreement(self) -> np.ndarray:
        """Of two agents that are both wrong, how often they give the same answer [A, A]."""
        wrong = (~self.hits & (self.groups > 0)).astype(float)
        same = np.zeros((wrong.shape[1], wrong.shape[1]))
        for groups, mask in zip(self.groups, wrong, strict=True):
            same += np.outer(mask, mask) * (groups[:, None] == groups[None])
        shares: np.ndarray = (same + 0.5) / (wrong.T @ wrong + 1)
        return shares

    @property
    def rank(self) -> list[int]:
        """The rank of each agent by accuracy [A], 0 for the best."""
        order = np.argsort(-self.accuracy, kind="stable")
        ranks = np.empty(len(order), int)
        ranks[order] = np.arange(len(order))
        return [int(rank) for rank in ranks]

    def mask_state(self, question: int, asked: np.ndarray) -> tuple[State, int]:
        """Return the state after only `asked` [A] answered, and the place of what is right there.

        That place is one of the groups, or last "none of them".
        """
        numbers: dict[int, int] = {}
        groups = []
        for group, is_asked in zip(self.groups[question].tolist(), asked, strict=True):
            if not is_asked:
                groups.append(UNASKED)
            elif group == SILENT:
                groups.append(SILENT)
            else:
                groups.append(numbers.setdefault(group, len(numbers) + 1))
        place = numbers.get(int(self.right[question]), len(numbers) + 1) - 1
        return tuple(groups), place


def count_answers(setting: AnswerSetting, answers: Answers) -> Tallies:
    """Group the answers of each question, and find the group that is right."""
    normalise = find_normaliser(setting.normalise)
    groups = np.full(answers.answers.shape, SILENT)
    right = np.full(len(answers.ids), NONE_RIGHT)
    for question, (given, gold) in enumerate(zip(answers.answers, answers.golds, strict=True)):
        numbers: dict[str, int] = {}
        for place, text in enumerate(given):
            key = normalise(text)
            if key:
                groups[question, place] = numbers.setdefault(key, len(numbers) + 1)
        right[question] = numbers.get(normalise(gold), NONE_RIGHT)
    return Tallies(groups, right)
