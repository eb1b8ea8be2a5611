"""The best that is possible, question by question and, on generated records, in the mean."""

from functools import cache
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
from tasks.answer_consensus.scoring.exact import ExactPolicy, Generator


def compute_bound(params: ConsensusParams, examples: Path, split: str) -> Bound:
    """Return 1 for each question that an agent within the cap answers right, else 0.

    It is exact: who answers otherwise has invented the answer, or knows gold.
    """
    setting = read_paid_setting(params, examples)
    answers = read_answers(examples, split)
    reason = "only an answer that some agent gave, and that the cap pays for, can be right"
    policy = find_exact_policy(setting)
    if policy is not None:
        best = policy.bound_accuracy(setting.purse, setting.mean_cost)
        reason += (
            f"; whoever knows the generator reaches {best:.4f} at {setting.mean_cost:g} $, and "
            f"{policy.compute_vote():.4f} by asking everyone"
        )
    return Bound(find_possible(setting, answers), reason, ids=answers.ids, exact=True)


def find_possible(setting: AnswerSetting, answers: Answers) -> np.ndarray:
    """Return whether any agent that the cap pays for is right, 0 or 1 [Q]."""
    normalise = np.vectorize(find_normaliser(setting.normalise), otypes=[object])
    is_paid = np.array(setting.costs) <= setting.purse * (1 + 1e-9)
    hits = normalise(answers.answers) == normalise(answers.golds)[:, None]
    possible: np.ndarray = (hits & is_paid).any(axis=1).astype(float)
    return possible


def find_exact_policy(setting: AnswerSetting) -> ExactPolicy | None:
    """Return the best policy of generated records; None for recorded ones."""
    if setting.generator is None:
        return None
    known = setting.generator
    abilities, models = tuple(known["abilities"]), tuple(setting.models)
    generator = Generator(abilities, models, known["wrong_answers"], known["copy_share"])
    return _keep_policy(generator, tuple(setting.costs))


@cache
def _keep_policy(generator: Generator, costs: tuple[float, ...]) -> ExactPolicy:
    """Return the same policy for the same generator: it remembers its states."""
    return ExactPolicy(generator, costs)
