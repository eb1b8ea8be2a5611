"""A canary's trial: tests find out whether it is worse, or becomes worse, for as long as it lasts.

Tests by betting: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by
betting, J. R. Stat. Soc. B 86 (2024); a bet for each time at which it may have become worse:
J. Shin, A. Ramdas and A. Rinaldo, E-detectors, New Engl. J. Stat. Data Sci. 2 (2024).
"""

from dataclasses import dataclass, field

ALPHA = 0.01  # chance that a sound canary is ever returned
NUM_HALVINGS = 10  # stakes beside Kelly's: the largest one, its half, its quarter...


@dataclass
class ShareTest:
    """Test whether more than `limit` of some events are bad, from the start or from any time on.

    At each group of events (such as the rows of a request) a new gambler begins to bet against
    that and all later groups: the stake depends on the number of events alone, the gain on the
    share of them that is bad. How large a stake is best depends on how the bad events come: one by
    one, or by whole groups, where a large stake loses more on the sound groups than it gains on the
    bad ones. So each gambler divides what it has among stakes from large to small. Gambler k has
    1 / (k (k + 1)) of one unit, which sums to that unit. While the share is `limit` or less on
    average, whatever came before, what all have together ever reaches 1 / alpha with a chance of
    `alpha` at most (Ville's inequality), however often it is evaluated, and also where the events
    of a group are alike.
    """

    limit: float  # 1 or more: nothing can be too much
    excess: float  # one of this size, of single events, is found soonest; the level holds always
    alpha: float = ALPHA
    num_groups: int = 0
    num_events: int = 0
    num_bad: int = 0
    # Of those who have begun, by each stake.
    wealths: list[float] = field(default_factory=lambda: [0.0] * (1 + NUM_HALVINGS))

    def add(self, num_events: int, num_bad: int) -> None:
        """Count one group of events."""
        if not 0 < self.limit < 1:
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


class Trial:
    """Two tests on the same requests, each at half of the level (Bonferroni)."""

    def __init__(self, max_disagreement: float) -> None:
        self.failures = ShareTest(0.001, 0.019, ALPHA / 2)
        self.rows = ShareTest(max_disagreement, 0.15, ALPHA / 2)

    def add_failure(self) -> None:
        """Count one request that the canary failed to answer."""
        self.failures.add(1, 1)

    def add_answer(self, num_rows: int, num_differing: int) -> None:
        """Count one request that both answered."""
        self.failures.add(1, 0)
        self.rows.add(num_rows, num_differing)

    @property
    def verdict(self) -> str | None:
        """Why the canary is taken out of service, or None."""
        if self.failures.failed:
            return f"failures: {self.failures.num_bad} of {self.failures.num_events} requests"
        if self.rows.failed:
            return (
                f"answers that differ from the champion's: {self.rows.num_bad} of "
                f"{self.rows.num_events} rows, more than {self.rows.limit:.3g} of them"
            )
        return None
