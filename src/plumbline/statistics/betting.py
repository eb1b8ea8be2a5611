"""Tests by betting: whether a mean of bounded values is above a limit, looked at however often.

I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, J. R. Stat.
Soc. B 86 (2024). Who bets a stake on each value, fixed beforehand, wins nothing on average while
the mean is at the limit or below it: of one unit at the start, 1 / level is ever reached with a
chance of `level` at most (Ville's inequality). No stake depends on a value, so counts of values are
enough, in any order, and those of several servers are added.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ALPHA = 0.01  # chance that a sound model ever fails
NUM_HALVINGS = 10  # stakes beside Kelly's: the largest one, its half, its quarter...
LARGEST_STAKE = 0.75  # of what one may lose at once: of all, one value could leave nothing
MAX_LOG = 700.0  # of an e-value: its exponential is still a number
ROUNDING = 1e-9  # of the span: a value outside of it by less is at its end

Counts = Mapping[float, float]  # of each value: how often it came, or its probability
Span = tuple[float, float]  # the smallest possible value and the largest
Stakes = tuple[float | None, float | None]


@dataclass
class ShareTest:
    """Test whether more than `limit` of some events are bad, from the start or from any time on.

    E-detectors: J. Shin, A. Ramdas and A. Rinaldo, New Engl. J. Stat. Data Sci. 2 (2024).
    At each group of events (such as the rows of a request) a new gambler begins to bet against
    that and all later groups: the stake depends on the number of events alone, the gain on the
    share of them that is bad. How large a stake is best depends on how the bad events come: one by
    one, or by whole groups, where a large stake loses more on the sound groups than it gains on the
    bad ones. So each gambler divides what it has among stakes from large to small. Gambler k has
    1 / (k (k + 1)) of one unit, which sums to that unit. While of a group of any size a share of
    `limit` or less is bad on average, whatever came before, what all have together ever reaches
    1 / alpha with a chance of `alpha` at most (Ville's inequality), however often it is evaluated,
    and also where the events of a group are alike. Groups have to come in the order of time.
    """

    limit: float  # 1 or more: nothing can be too much
    excess: float  # one of this size, of single events, is found soonest; the level holds always
    alpha: float = ALPHA
    num_groups: int = 0
    num_events: int = 0
    num_bad: float = 0
    # Of those who have begun, by each stake.
    wealths: list[float] = field(default_factory=lambda: [0.0] * (1 + NUM_HALVINGS))

    def add(self, num_events: int, num_bad: float) -> None:
        """Count one group of events; one may be bad in part."""
        if not 0 < self.limit < 1 or not num_events:
            return
        self.num_groups += 1
        self.num_events += num_events
        self.num_bad += num_bad
        begins_with = 1 / (self.num_groups * (self.num_groups + 1))
        excess = num_bad / num_events - self.limit
        for place, stake in enumerate(self._list_stakes(num_events)):
            self.wealths[place] = (self.wealths[place] + begins_with) * (1 + stake * excess)

    @property
    def wealth(self) -> float:
        """What all have together, of the one unit that they began with."""
        return sum(self.wealths) / len(self.wealths)

    @property
    def failed(self) -> bool:
        """Whether too many events are bad, at level `alpha`."""
        return self.wealth >= 1 / self.alpha

    def _list_stakes(self, num_events: int) -> list[float]:
        """The best stake against `excess` (Kelly's), then the largest one, its half, its quarter...

        Kelly's stake of one event is that of Wald's ratio test.
        """
        largest = 0.75 / self.limit
        variance = self.limit * (1 - self.limit) / num_events
        kelly = min(self.excess / variance, largest)
        return [kelly, *(largest / 2**halvings for halvings in range(NUM_HALVINGS))]


def compute_e_value(
    counts: Counts, mean: float, *, span: Span = (0.0, 1.0), planned: Counts | None = None
) -> float:
    """Compute the evidence against "each value has a mean of at most `mean`", given those before.

    1 / level or more rejects it, at any look. It is the mean of what ten stakes have: the largest,
    its half, its quarter... With `planned`, the probability of each value where the mean is as much
    larger as is worth finding, half of the weight is on the stake that is best then. The level
    holds whatever was planned, if that and `span` were known before the first value, which is of a
    whole request: its rows may be alike. At most exp(700). Of `negate`d counts, mean and span it is
    the evidence against "at least". ValueError for a value outside of `span` or a negative count.
    """
    stake = None if planned is None else find_stake(planned, mean, span=span)
    found = compute_log_wealth(*_read_counts(counts, span), mean - span[0], stake)
    return math.exp(min(found, MAX_LOG))


def compute_interval(
    counts: Counts, level: float, *, span: Span = (0.0, 1.0), stakes: Stakes = (None, None)
) -> tuple[float, float]:
    """Compute all means that neither side rejects at level / 2: the true one, at all looks at once.

    `stakes` are those of `find_stake` for the lower end, and for the upper one (of negated values):
    the ends agree with tests that were planned so. They are the same for all means, or else what is
    rejected need not lie outside of an interval. No values: the span.
    """
    if not 0 < level < 1:
        raise ValueError(f"a level is between 0 and 1; found {level}")
    low, high = span
    return (
        _find_low_end(counts, level / 2, span, stakes[0]),
        -_find_low_end(negate(counts), level / 2, (-high, -low), stakes[1]),
    )


def find_stake(planned: Counts, mean: float, *, span: Span = (0.0, 1.0)) -> float:
    """Find the best stake against `mean` if each value comes with its `planned` probability.

    It is Kelly's (1956), as a share of what one may lose at once: from 0, where the planned mean is
    not above `mean`, to LARGEST_STAKE. ValueError for a value outside of the span.
    """
    heights, weights = _read_counts(planned, span)
    if mean <= span[0]:
        return LARGEST_STAKE
    gains = heights / (mean - span[0]) - 1
    return _find_largest(
        lambda stake: bool(weights @ (gains / (1 + stake * gains)) > 0), 0.0, LARGEST_STAKE
    )


def negate(counts: Counts) -> dict[float, float]:
    """Return the same counts of the negated values."""
    return {-value: number for value, number in counts.items()}


def compute_log_wealth(
    heights: np.ndarray, numbers: np.ndarray, mean: float, stake: float | None
) -> Any:
    """Compute the logarithm of an e-value from `numbers` [..., values] that each value came.

    `heights` [values] and `mean` are above the span's low end.
    """
    if mean <= 0:
        return np.where(numbers @ (heights > 0) > 0, math.inf, 0.0)
    stakes = LARGEST_STAKE / 2.0 ** np.arange(NUM_HALVINGS)
    weights = np.full(NUM_HALVINGS, 1 / NUM_HALVINGS)
    if stake is not None:
        if not 0 <= stake < 1:
            raise ValueError(f"a stake is a share of what one may lose, below 1; found {stake}")
        stakes, weights = np.append(stakes, stake), np.append(weights / 2, 0.5)
    with np.errstate(over="ignore"):  # a mean just above the end of the span
        gains = heights / mean - 1
    logs = np.stack([numbers @ np.log1p(each * gains) for each in stakes], axis=-1)
    return np.logaddexp.reduce(logs + np.log(weights), axis=-1)


def _find_low_end(counts: Counts, level: float, span: Span, stake: float | None) -> float:
    found, edge = _read_counts(counts, span), -math.log(level)
    return _find_largest(
        lambda mean: compute_log_wealth(*found, mean - span[0], stake) >= edge, *span
    )


def _read_counts(counts: Counts, span: Span) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each value that came is above the span's end, and how often it came."""
    values = np.fromiter(counts.keys(), float, len(counts))
    numbers = np.fromiter(counts.values(), float, len(counts))
    low, high = span
    reach = ROUNDING * (high - low)
    wrong = ~((values >= low - reach) & (values <= high + reach) & (numbers >= 0))
    for value, number in zip(values[wrong], numbers[wrong], strict=True):
        raise ValueError(f"{value}, {number} times: not within {low} to {high}, 0 times or more")
    came = numbers > 0
    return np.clip(values[came] - low, 0.0, high - low), numbers[came]


def _find_largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Find the largest number for which it holds, as for all below; `low` if it never does."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
