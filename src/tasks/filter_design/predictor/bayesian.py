"""Bayesian optimisation in place of the search by neighbours."""

import math

import numpy as np

from .ladder import Ladder
from .rounding import convert_steps, round_ladders
from .search import Search
from .strategies import Strategy, Textbook, make_seed


class Bayesian(Strategy):
    """Bayesian optimisation from the textbook's ladders, in place of the search by neighbours.

    A Gaussian process of the margins says which ladder may raise the best one most (expected
    improvement: Jones, Schonlau and Welch 1998).
    """

    NUM_STARTS = 8
    NUM_POOL = 128  # ladders among which it chooses, around the best
    NUM_CHOSEN = 8  # before margins are fitted again
    SPREAD = 0.1  # of logs, between ladders of the pool and the best
    LENGTH = 0.3  # of logs, over which margins are alike
    NOISE = 1e-3  # of margins, as a share of their variance

    def run(self, search: Search, budget: int) -> None:
        """Spend calls until `search.calls` reaches `budget`."""
        ladder = search.ladder
        random = np.random.default_rng(make_seed(ladder))
        starts = Textbook({}, {}).propose(ladder, self.NUM_STARTS)
        search.try_ladders(round_ladders(ladder, *starts), starts.topologies, budget)
        while search.calls < budget:
            before = search.calls
            steps, topologies = self._choose(search, random)
            search.try_ladders(steps, topologies, budget)
            if search.calls == before:  # the pool has nothing new
                search.expand(min(budget, before + self.NUM_CHOSEN))
            if search.calls == before:
                return

    def _choose(self, search: Search, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps and topologies of the most promising ladders of a pool."""
        ladder = search.ladder
        steps, topologies = np.stack(search.steps), np.array(search.topologies)
        margins = np.array(search.margins)
        known = convert_steps(ladder, steps, topologies)
        places = np.argsort(-margins, kind="stable")[: self.NUM_CHOSEN]
        centres = np.resize(places, self.NUM_POOL)
        noise = random.normal(0, self.SPREAD, (self.NUM_POOL, ladder.num_parts))
        pool = round_ladders(ladder, known[centres] + noise, topologies[centres])
        is_new = np.array(
            [not search.has_tried(*pair) for pair in zip(pool, topologies[centres], strict=True)]
        )
        values = convert_steps(ladder, pool, topologies[centres])
        gains = self._expect_gains(
            self._place(ladder, known, topologies),
            (margins - margins.mean()) / max(margins.std(), 1e-9),
            self._place(ladder, values, topologies[centres]),
        )
        best = np.argsort(-np.where(is_new, gains, -1.0), kind="stable")[: self.NUM_CHOSEN]
        return pool[best], topologies[centres][best]

    def _place(self, ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
        """Return where ladders are for the process [D, P + 1]; topologies are far apart."""
        logs = ladder.signs[topologies] * (logs - ladder.references[topologies])
        return np.column_stack([logs / self.LENGTH, 3.0 * topologies])

    def _expect_gains(self, known: np.ndarray, margins: np.ndarray, pool: np.ndarray) -> np.ndarray:
        """Return the expected improvement of each place of the pool."""
        inner = compute_kernel(known, known) + self.NOISE * np.eye(len(known))
        cross = compute_kernel(pool, known)
        solved = np.linalg.solve(inner, np.column_stack([margins, cross.T]))
        means = cross @ solved[:, 0]
        variances = 1 - (cross * solved[:, 1:].T).sum(axis=1)
        deviations = np.sqrt(np.maximum(variances, 1e-12))
        ratios = (means - margins.max()) / deviations
        density = np.exp(-(ratios**2) / 2) / math.sqrt(2 * math.pi)
        below = np.array([math.erf(ratio / math.sqrt(2)) for ratio in ratios.tolist()])
        gains: np.ndarray = deviations * (ratios * (1 + below) / 2 + density)
        return gains


def compute_kernel(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the covariance of a Gaussian process between places [D, E]."""
    squares = ((rows[:, None] - columns) ** 2).sum(axis=2)
    kernel: np.ndarray = np.exp(-squares / 2)
    return kernel
