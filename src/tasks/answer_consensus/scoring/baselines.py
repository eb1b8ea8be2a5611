"""What any policy has to beat, the best fixed sets for the same money; and what is possible."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Predictor
from tasks.answer_consensus.data.storage import AnswerSetting, read_answers, read_paid_setting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.models.tallies import Tallies, count_answers
from tasks.answer_consensus.models.votes import calibrate_vote, choose_best_set
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.predictor import Predictor as Policy
from tasks.answer_consensus.predictor import find_normaliser


def build_baselines(params: ConsensusParams, examples: Path) -> dict[str, Predictor]:
    """Return four fixed sets of agents, chosen on train, that ask the same agents every time.

    cheapest · best_single · plurality: the best set, by one vote each · self_consistency (Wang et
    al. 2023): the same among the prompts or samples of the best agent's model. All but the first
    cost no more than mean_cost and max_cost, which candidates have too.
    """
    setting = read_paid_setting(params, examples)
    tallies = count_answers(setting, read_answers(examples, "train"))
    everyone = list(range(len(setting.agents)))
    best = _find_best_paid(setting, tallies)
    same_model = [place for place in everyone if setting.models[place] == setting.models[best]]
    plans = {
        "cheapest": [int(np.argmin(setting.costs))],
        "best_single": [best],
        "plurality": choose_best_set(setting, tallies, everyone),
        "self_consistency": choose_best_set(setting, tallies, same_model),
    }
    baselines: dict[str, Any] = {}
    for name, plan in plans.items():
        baselines[name] = Policy(calibrate_vote(setting, tallies, plan))
    return baselines


def compute_bound(params: ConsensusParams, examples: Path, split: str) -> Bound:
    """Return 1 for each question that an agent within the cap answers right, else 0.

    It is exact: who answers otherwise has invented the answer, or knows gold.
    """
    setting = read_paid_setting(params, examples)
    answers = read_answers(examples, split)
    reason = "only an answer that some agent gave, and that the cap pays for, can be right"
    return Bound(find_possible(setting, answers), reason, exact=True)


def find_possible(setting: AnswerSetting, answers: Answers) -> np.ndarray:
    """Return whether any agent that the cap pays for is right, 0 or 1 [Q]."""
    normalise = np.vectorize(find_normaliser(setting.normalise), otypes=[object])
    is_paid = np.array(setting.costs) <= setting.purse * (1 + 1e-9)
    hits = normalise(answers.answers) == normalise(answers.golds)[:, None]
    possible: np.ndarray = (hits & is_paid).any(axis=1).astype(float)
    return possible


def _find_best_paid(setting: AnswerSetting, tallies: Tallies) -> int:
    left = min(setting.mean_cost, setting.purse)
    paid = [place for place, cost in enumerate(setting.costs) if cost <= left]
    if not paid:
        return int(np.argmin(setting.costs))
    return min(paid, key=lambda place: tallies.rank[place])
