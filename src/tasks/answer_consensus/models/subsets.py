"""States to learn from: questions of which only some agents have answered; the conditional logit.

Shapes: N choices of up to E elements, each described by P features.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.answer_consensus.models.tallies import Tallies
from tasks.answer_consensus.predictor import State

Example = tuple[State, int]  # a state, and the place of what is right there


@dataclass(frozen=True)
class Choices:
    """Choices to learn from: which elements exist, `mask` [N, E], and which is `right` [N]."""

    features: np.ndarray  # [N, E, P]
    mask: np.ndarray
    right: np.ndarray
    counts: np.ndarray  # how often each choice occurred [N]


def fit_choice_model(choices: Choices, ridge: float, start: np.ndarray) -> np.ndarray:
    """Return the weights [P] with the greatest mean log likelihood, less ridge / 2 times squares.

    By L-BFGS (Liu and Nocedal 1989) from `start`; the problem is convex.
    """
    from scipy.optimize import minimize

    rows = np.arange(len(choices.right))
    weighting = choices.counts / choices.counts.sum()

    def compute_loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        utilities = np.where(choices.mask, choices.features @ weights, -np.inf)
        utilities -= utilities.max(axis=1, keepdims=True)
        chances = np.exp(utilities)
        totals = chances.sum(axis=1, keepdims=True)
        loss = float(weighting @ (np.log(totals[:, 0]) - utilities[rows, choices.right]))
        residuals = chances / totals
        residuals[rows, choices.right] -= 1.0
        gradient = np.einsum("n,ne,nep->p", weighting, residuals, choices.features)
        return loss + ridge / 2 * float(weights @ weights), gradient + ridge * weights

    return np.asarray(minimize(compute_loss, start, jac=True, method="L-BFGS-B").x)


def draw_examples(tallies: Tallies, subsets: int, random: np.random.Generator) -> list[Example]:
    """Draw `subsets` sets of agents for each question, of uniform size from 1 to all."""
    num_questions, num_agents = tallies.groups.shape
    examples = []
    for question in range(num_questions):
        sizes = random.integers(1, num_agents + 1, subsets)
        for size in sizes:
            asked = np.zeros(num_agents, bool)
            asked[random.permutation(num_agents)[:size]] = True
            examples.append(tallies.mask_state(question, asked))
    return examples


def list_prefixes(tallies: Tallies, plan: list[int]) -> list[Example]:
    """Return every question after the first agent of `plan`, after the first two and so on."""
    num_questions, num_agents = tallies.groups.shape
    examples = []
    for size in range(1, len(plan) + 1):
        asked = np.isin(np.arange(num_agents), plan[:size])
        examples += [tallies.mask_state(question, asked) for question in range(num_questions)]
    return examples


def build_vote_choices(examples: list[Example]) -> Choices:
    """Describe elements by the number of their votes, and "none" by how many answered.

    The three features: the votes, whether it is none, and then the number of answers.
    """
    return _join_examples(examples, _describe_votes)


def build_agent_choices(examples: list[Example]) -> Choices:
    """Describe elements by who gave them, and "none" by itself and by who answered [2 A + 1]."""
    return _join_examples(examples, _describe_agents)


def _describe_votes(state: State) -> np.ndarray:
    groups = np.array(state)
    num_groups = max(0, *state)
    features = np.zeros((num_groups + 1, 3))
    for group in range(1, num_groups + 1):
        features[group - 1, 0] = (groups == group).sum()
    features[-1, 1:] = 1.0, (groups > 0).sum()
    return features


def _describe_agents(state: State) -> np.ndarray:
    groups = np.array(state)
    num_agents, num_groups = len(groups), max(0, *state)
    features = np.zeros((num_groups + 1, 2 * num_agents + 1))
    for group in range(1, num_groups + 1):
        features[group - 1, :num_agents] = groups == group
    features[-1, num_agents : 2 * num_agents] = groups > 0
    features[-1, -1] = 1.0
    return features


def _join_examples(examples: list[Example], describe: Callable[[State], np.ndarray]) -> Choices:
    """Describe every example; equal ones are one choice that occurred several times."""
    counts = Counter(examples)
    described = [describe(state) for state, _ in counts]
    most = max(len(features) for features in described)
    stacked = np.zeros((len(counts), most, described[0].shape[1]))
    mask = np.zeros((len(counts), most), bool)
    for row, features in enumerate(described):
        stacked[row, : len(features)] = features
        mask[row, : len(features)] = True
    right = np.array([place for _, place in counts])
    return Choices(stacked, mask, right, np.array(list(counts.values()), float))
