"""The best that is possible on generated records: the exact vote and the exact policy.

A pattern says which of A agents gave equal answers, not which answers: groups are numbered in the
order of agents, as in the predictor's states. Names of answers carry no information, so a pattern
is all that anyone can know. Eight agents have 4,140 of them.

Masses [R + 1] of a state: the probability of the state together with each group being right, and
last with none being right. The difficulty is integrated by Gauss-Hermite quadrature.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import perm

import numpy as np

UNASKED = 0
PRICES = (3.0, 1e-3, 13)  # of the frontier, in accuracy for the cost of the dearest agent
NUM_NODES = 21  # of the quadrature: exact for polynomials up to degree 41
State = tuple[int, ...]


@dataclass(frozen=True)
class Generator:
    """How records are generated; see data/generated.py."""

    abilities: Sequence[float]  # [A]
    models: Sequence[str]  # [A]; agents of one model share wrong answers
    wrong_answers: int
    copy_share: float


@dataclass(frozen=True)
class PolicyValue:
    """What a policy reaches in the mean."""

    accuracy: float
    cost: float


class ExactPolicy:
    """Best decisions when the generator is known; states are summed up once and kept."""

    def __init__(self, generator: Generator, costs: Sequence[float]) -> None:
        self._generator = generator
        self._costs = costs
        self._num_agents = len(costs)
        self._masses: dict[State, np.ndarray] = {}
        self._frontiers: dict[float, list[tuple[float, PolicyValue]]] = {}
        self._next: dict[tuple[State, int], list[State]] = {}

    def compute_vote(self) -> float:
        """Return the accuracy of the best vote when every agent is asked."""
        complete = _list_patterns(self._num_agents)
        return float(sum(self.sum_masses(state)[:-1].max() for state in complete))

    def compute_policy(self, cap: float, price: float = 0.0) -> PolicyValue:
        """Return accuracy and mean cost of the policy with the best accuracy - price * cost.

        No question may cost more than `cap`. By backward induction over all states.
        """
        kept: dict[State, tuple[float, float]] = {}

        def solve(state: State, left: float) -> tuple[float, float]:
            if state not in kept:
                masses = self.sum_masses(state)
                best = (float(masses[:-1].max(initial=0.0)), 0.0)
                for place, cost in enumerate(self._costs):
                    if state[place] == UNASKED and cost <= left:
                        ends = [
                            solve(after, left - cost) for after in self._list_next(state, place)
                        ]
                        accuracy = sum(end[0] for end in ends)
                        spent = float(masses.sum()) * cost + sum(end[1] for end in ends)
                        if accuracy - price * spent > best[0] - price * best[1] + 1e-15:
                            best = (accuracy, spent)
                kept[state] = best
            return kept[state]

        return PolicyValue(*solve((UNASKED,) * self._num_agents, cap * (1 + 1e-9)))

    def compute_frontier(self, cap: float) -> list[tuple[float, PolicyValue]]:
        """Return policies with the prices for which they are best, from the dearest to free."""
        if cap not in self._frontiers:
            prices = [*(np.geomspace(*PRICES) / max(self._costs)), 0.0]
            self._frontiers[cap] = [(price, self.compute_policy(cap, price)) for price in prices]
        return self._frontiers[cap]

    def bound_accuracy(self, cap: float, mean_cost: float) -> float:
        """Return a bound for any policy that costs at most `mean_cost` in the mean.

        For every price, accuracy - price * cost is at most that of the best policy at that price
        (Everett 1963, generalised Lagrange multipliers); the least of these bounds holds.
        """
        return min(
            value.accuracy + price * (mean_cost - value.cost)
            for price, value in self.compute_frontier(cap)
        )

    def sum_masses(self, state: State) -> np.ndarray:
        """Return the masses [R + 1] of a state: of all complete patterns that agree with it."""
        if state in self._masses:
            return self._masses[state]
        if UNASKED not in state:
            masses = self._compute_masses(state)
        else:
            num_groups = max(state)
            masses = np.zeros(num_groups + 1)
            place = state.index(UNASKED)
            for group, after in enumerate(_list_raw_next(state, place), start=1):
                numbers, canonical = _order_groups(after)
                inner = self.sum_masses(canonical)
                for old in range(1, num_groups + 1):
                    masses[old - 1] += inner[numbers[old] - 1]
                masses[-1] += inner[-1]
                if group > num_groups:  # a new answer, which may be right
                    masses[-1] += inner[numbers[group] - 1]
        self._masses[state] = masses
        return masses

    def _list_next(self, state: State, place: int) -> list[State]:
        key = (state, place)
        if key not in self._next:
            self._next[key] = [_order_groups(after)[1] for after in _list_raw_next(state, place)]
        return self._next[key]

    def _compute_masses(self, pattern: State) -> np.ndarray:
        elements = [*range(1, max(pattern) + 1), None]
        return np.array([self._compute_mass(pattern, right) for right in elements])

    def _compute_mass(self, pattern: State, right: int | None) -> float:
        """Return the probability of a complete pattern whose group `right` is right."""
        wrong_groups = [group for group in range(1, max(pattern) + 1) if group != right]
        number_ways = perm(self._generator.wrong_answers, len(wrong_groups))
        mass = number_ways * self._compute_hits([group == right for group in pattern])
        for model in set(self._generator.models):
            wrong = [
                group
                for group, other in zip(pattern, self._generator.models, strict=True)
                if other == model and group != right
            ]
            mass *= self._compute_wrong(wrong, len(wrong_groups))
        return mass

    def _compute_wrong(self, wrong: Sequence[int], num_groups: int) -> float:
        """Return the probability of the wrong answers of one model's agents, given all answers.

        The answer that they copy is drawn once for a question.
        """
        total = self._generator.wrong_answers
        copy = self._generator.copy_share
        own = (1 - copy) / total
        sums = (total - len(set(wrong))) * own ** len(wrong)
        for copied in set(wrong):
            num_same = wrong.count(copied)
            sums += (copy + own) ** num_same * own ** (len(wrong) - num_same)
        return sums / total

    def _compute_hits(self, hits: Sequence[bool]) -> float:
        nodes, weights = self._quadrature
        shares = np.where(np.array(hits)[:, None], nodes, 1 - nodes)
        return float(shares.prod(axis=0) @ weights)

    @cached_property
    def _quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        """Each agent's chance to be right at each difficulty [A, N], and the weights [N]."""
        from scipy.stats import norm

        points, weights = np.polynomial.hermite_e.hermegauss(NUM_NODES)
        abilities = np.array(self._generator.abilities)[:, None]
        return norm.cdf(abilities - points[None]), weights / weights.sum()


def _list_patterns(num_agents: int) -> Iterator[State]:
    """Yield every complete pattern."""
    states: list[State] = [(UNASKED,) * num_agents]
    for place in range(num_agents):
        states = [after for state in states for after in _list_raw_next(state, place)]
    yield from states


def _list_raw_next(state: State, place: int) -> list[State]:
    """Return the states after the agent at `place` joins each group, and a new one."""
    groups = range(1, max(state) + 2)
    return [(*state[:place], group, *state[place + 1 :]) for group in groups]


def _order_groups(state: State) -> tuple[Mapping[int, int], State]:
    """Number groups in the order of agents; return the new numbers by the old ones, too."""
    numbers: dict[int, int] = {}
    for group in state:
        if group != UNASKED:
            numbers.setdefault(group, len(numbers) + 1)
    return numbers, tuple(numbers.get(group, UNASKED) for group in state)
