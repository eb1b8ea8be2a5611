"""Which agents fixed votes ask, and what each vote weighs; and the weights that are learned."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from tasks.answer_consensus.data.storage import AnswerSetting
from tasks.answer_consensus.models.policy import (
    Config,
    build_config,
    choose_by_accuracy,
)
from tasks.answer_consensus.models.subsets import (
    build_agent_choices,
    build_vote_choices,
    draw_examples,
    fit_choice_model,
    list_prefixes,
)
from tasks.answer_consensus.models.tallies import Tallies
from tasks.answer_consensus.params import LogitConfig

RIDGE = 1e-6
MAX_ENUMERATED = 10  # agents whose sets are all tried


def build_vote(setting: AnswerSetting, tallies: Tallies, kind: str) -> Config:
    """Build the fixed vote `kind`, of the best agents that mean_cost and max_cost pay for."""
    plan = choose_by_accuracy(setting, tallies.accuracy)
    if kind == "single":
        plan = plan[:1]
    return calibrate_vote(setting, tallies, plan)


def calibrate_vote(setting: AnswerSetting, tallies: Tallies, plan: list[int]) -> Config:
    """Turn votes into probabilities: three numbers, fitted to train.

    As Platt (1999) does, for a choice: the weight of a vote, and the utility of "none is right"
    with and without another answer. Which answer wins does not change.
    """
    choices = build_vote_choices(list_prefixes(tallies, plan))
    scale, none, none_each = fit_choice_model(choices, RIDGE, np.array([1.0, 0.0, 0.0]))
    scale = max(scale, RIDGE)
    scorer = {
        "favour": [float(scale)] * len(setting.agents),
        "none": float(none),
        "none_each": [float(none_each)] * len(setting.agents),
    }
    return build_config(setting, tallies, scorer, plan)


def choose_best_set(setting: AnswerSetting, tallies: Tallies, among: list[int]) -> list[int]:
    """Return the set of agents, of those `among`, with the best plurality on train.

    It costs no more than mean_cost and max_cost. All sets are tried of up to MAX_ENUMERATED
    agents, of more those that take the best, the two best and so on.
    """
    left = min(setting.mean_cost, setting.purse)
    order = sorted(among, key=lambda place: tallies.rank[place])
    sets: list[tuple[int, ...]] = [tuple(order[:size]) for size in range(1, len(order) + 1)]
    sets += [(place,) for place in order]
    if len(order) <= MAX_ENUMERATED:
        sets = []
        for size in range(1, len(order) + 1):
            sets.extend(combinations(order, size))
    paid = [one for one in sets if sum(setting.costs[place] for place in one) <= left]
    if not paid:
        return [min(among, key=lambda place: setting.costs[place])]
    rated = [(measure_plurality(tallies, list(one)), -len(one)) for one in paid]
    return list(paid[rated.index(max(rated))])


def measure_plurality(tallies: Tallies, plan: list[int]) -> float:
    """Return the accuracy of the plurality of `plan`; among equals the best agent decides."""
    order = sorted(plan, key=lambda place: tallies.rank[place])
    groups = tallies.groups[:, order]
    counts = (groups[:, :, None] == groups[:, None, :]).sum(axis=2) * (groups > 0)
    picked = groups[np.arange(len(groups)), counts.argmax(axis=1)]  # the first of the highest
    return float(((picked == tallies.right) & (picked > 0)).mean())


def fit_logit(config: LogitConfig, tallies: Tallies, seed: int) -> Mapping[str, Any]:
    """Fit the weight of each agent's vote, and what each answer says against "none is right"."""
    examples = draw_examples(tallies, config.subsets, np.random.default_rng((seed, 1)))
    choices = build_agent_choices(examples)
    weights = fit_choice_model(choices, config.ridge, np.zeros(choices.features.shape[2]))
    num_agents = tallies.groups.shape[1]
    return {
        "favour": weights[:num_agents].tolist(),
        "none": float(weights[-1]),
        "none_each": weights[num_agents : 2 * num_agents].tolist(),
    }
