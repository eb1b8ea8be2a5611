"""The simple learned vote: a conditional logit with a weight for each agent."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.answer_consensus.models.choice_model import fit_choice_model
from tasks.answer_consensus.models.subsets import build_agent_choices, draw_examples
from tasks.answer_consensus.models.tallies import Tallies
from tasks.answer_consensus.params import LogitConfig


def fit_logit(config: LogitConfig, tallies: Tallies, seed: int) -> Mapping[str, Any]:
    """Fit the weight of each agent's vote, and what each answer says against "none is right"."""
    examples = draw_examples(tallies, config.subsets, np.random.default_rng((seed, 1)))
    choices = build_agent_choices(examples)
    weights = fit_choice_model(choices, config.ridge, np.zeros(choices.features.shape[2]))
    num_agents = tallies.groups.shape[1]
    return {
        "kind": "additive",
        "favour": weights[:num_agents].tolist(),
        "none": float(weights[-1]),
        "none_each": weights[num_agents : 2 * num_agents].tolist(),
    }
