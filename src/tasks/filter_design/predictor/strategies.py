"""Where the search begins: the textbook, or random values around it."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .ladder import Ladder, build_ladder, compute_limit_db, find_prototype, list_stop_ratios
from .rows import ORDERS, Spec
from .search import FilterDesign, Proposals, Search, round_ladders

MAX_BUDGET = 1024
NUM_SAMPLES = 16  # that a network proposes, whatever the budget: its products keep their shape


def search_textbook(spec: Spec, budget: int) -> list[FilterDesign]:
    """Return the designs of the textbook and of the search from them, the best first."""
    designs, _ = search_ladders(spec, Textbook({}, {}), budget)
    return sorted(designs, key=lambda design: (-design.margin_db, design.calls))


def search_ladders(
    spec: Spec, strategy: "Strategy", budget: int, number: int = 3, every_order: bool = False
) -> tuple[list[FilterDesign], int]:
    """Return the best designs, up to `number` of each topology, and the number of calls.

    Where the order is left out, it begins with the least that the theorem allows; an order that
    does not meet the mask within its share of the calls leaves the rest to the next one, as all
    do with `every_order`.
    """
    orders = list_orders(spec)
    designs: list[FilterDesign] = []
    calls = 0
    for place, order in enumerate(orders):
        share = calls + max(1, (budget - calls) // (len(orders) - place))
        search = Search(build_ladder(spec, order), calls)
        strategy.run(search, min(share, budget))
        is_last = search.has_met() and not every_order
        if is_last:
            search.expand(budget)
        designs += search.list_designs(number)
        calls = search.calls
        if is_last or calls >= budget:
            break
    return designs, calls


def list_orders(spec: Spec) -> list[int]:
    """Return the orders to try, in turn; the highest where the theorem allows none."""
    if spec.order:
        return [spec.order]
    orders = ORDERS[spec.kind]
    able = [order for order in orders if compute_limit_db(spec, order) >= spec.min_attenuation_db]
    return able or [orders[-1]]


class Strategy:
    """Proposes ladders; the search rounds and refines them."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
        self.config = config
        self.weights = weights

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return where to begin."""
        raise NotImplementedError

    def run(self, search: Search, budget: int) -> None:
        """Spend calls until `search.calls` reaches `budget`."""
        proposals = self.propose(search.ladder, budget - search.calls)
        steps = round_ladders(search.ladder, *proposals)
        search.try_ladders(steps, proposals.topologies, budget)
        search.expand(budget)


class Textbook(Strategy):
    """Chebyshev's filters, of several ripples and cutoffs, either part first."""

    # Share of the loss limit as ripple, cutoff over the pass edge, topology. Each of the first 16
    # meets the most masks of those that the ones before it miss; the rest is for loose masks.
    FAMILY = (
        *((0.7, 1.03, 1), (0.8, 1.03, 0), (0.6, 1.0, 0), (0.8, 1.0, 1), (0.5, 1.0, 1)),
        *((0.7, 1.0, 0), (0.6, 1.03, 1), (0.7, 1.0, 1), (0.5, 1.0, 0), (0.9, 1.0, 1)),
        *((0.4, 1.0, 1), (0.6, 1.0, 1), (0.9, 1.03, 0), (0.5, 1.03, 0), (0.6, 1.03, 0)),
        *((0.7, 1.03, 0), (0.2, 1.0, 1), (0.2, 1.0, 0), (0.05, 1.0, 1), (0.05, 1.0, 0)),
    )

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return the family, in a fixed order."""
        logs = [self.build_member(ladder, *member) for member in self.FAMILY[:budget]]
        topologies = [topology for _, _, topology in self.FAMILY[:budget]]
        return Proposals(np.stack(logs), np.array(topologies))

    def build_member(
        self, ladder: Ladder, share: float, cutoff: float, topology: int
    ) -> np.ndarray:
        """Return the logs of one of the family [P]."""
        prototype = find_prototype(ladder.order, share * ladder.spec.max_loss_db) / cutoff
        logs: np.ndarray = ladder.convert_prototype(prototype)[topology]
        return logs


def make_seed(ladder: Ladder) -> int:
    """Return a seed that is the same for all frequencies x 10 and impedances x 10."""
    spec = ladder.spec
    numbers = [spec.max_loss_db, spec.min_attenuation_db, spec.q_inductor, spec.q_capacitor]
    numbers += [ladder.width, *list_stop_ratios(spec), *np.unique(ladder.mantissas).tolist()]
    text = [spec.kind, str(ladder.order), spec.series, *(f"{number:.9g}" for number in numbers)]
    return int.from_bytes(hashlib.sha256("|".join(text).encode()).digest()[:8], "big")
