"""A canary's trial: tests find out whether it is worse, or becomes worse, for as long as it lasts.

Tests by betting: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by
betting, J. R. Stat. Soc. B 86 (2024); a bet for each time at which it may have become worse:
J. Shin, A. Ramdas and A. Rinaldo, E-detectors, New Engl. J. Stat. Data Sci. 2 (2024).
"""

from dataclasses import dataclass, field

ALPHA = 0.01  # chance that a sound canary is ever returned
NUM_HALVINGS = 10  # stakes beside Kelly's: the largest one, its half, its quarter...


@dataclass
class Gamblers:
    """Those who bet by one rule for the stake: one begins at each group of events.

    Gambler k has 1 / (k (k + 1)) of one unit, which sums to that unit.
    """

    wealth: float = 0.0  # of those who have begun
    best_gain: float = 1.0  # of the gambler who began at the best time
    num_events: int = 0  # since that time
    num_bad: int = 0

    def multiply(self, group: int, gain: float, num_events: int, num_bad: int) -> None:
        """Multiply what each has by `gain`, that of the gambler included who begins at `group`."""
        self.wealth = (self.wealth + 1 / (group * (group + 1))) * gain
        if self.best_gain <= 1:
            self.best_gain, self.num_events, self.num_bad = 1.0, 0, 0
        self.best_gain *= gain
        self.num_events += num_events
        self.num_bad += num_bad


@dataclass
class ShareTest:
    """Test whether more than `limit` of some events are bad, from the start or from any time on.

    At each group of events (such as the rows of a request) a new gambler begins to bet against
    that and all later groups: the stake depends on the number of events alone, the gain on the
    share of them that is bad. How large a stake is best depends on how the bad events come: one by
    one, or by whole groups, where a large stake loses more on the sound groups than it gains on the
    bad ones. So each gambler divides what it has among stakes from large to small. While the share
    is `limit` or less on average, whatever came before, what all have together ever reaches
    1 / alpha with a chance of `alpha` at most (Ville's inequality), however often it is evaluated,
    and also where the events of a group are alike.
    """

    limit: float  # 1 or more: nothing can be too much
    excess: float  # one of this size, of single events, is found soonest; the level holds always
    alpha: float = ALPHA
    num_groups: int = 0
    gamblers: list[Gamblers] = field(  # for each of the stakes
        default_factory=lambda: [Gamblers() for _ in range(1 + NUM_HALVINGS)]
    )

    def add(self, num_events: int, num_bad: int) -> None:
        """Count one group of events."""
        if not 0 < self.limit < 1:
            return
        self.num_groups += 1
        excess = num_bad / num_events - self.limit
        for gamblers, stake in zip(self.gamblers, self._list_stakes(num_events), strict=True):
            gamblers.multiply(self.num_groups, 1 + stake * excess, num_events, num_bad)

    @property
    def wealth(self) -> float:
        """What all have together, of the one unit that they began with."""
        return sum(each.wealth for each in self.gamblers) / len(self.gamblers)

    @property
    def failed(self) -> bool:
        """Whether too many events are bad, at level `alpha`."""
        return self.wealth >= 1 / self.alpha

    @property
    def counts(self) -> str:
        """How many were bad since they became too many."""
        best = max(self.gamblers, key=lambda each: each.best_gain)
        return f"{best.num_bad} of the last {best.num_events}"

    def _list_stakes(self, num_events: int) -> list[float]:
        """The best stake against `excess` (Kelly's), then the largest one, its half, its quarter...

        Kelly's stake of one event is that of Wald's ratio test.
        """
        largest = 0.75 / self.limit
        variance = self.limit * (1 - self.limit) / num_events
        kelly = min(self.excess / variance, largest)
        return [kelly, *(largest / 2**halvings for halvings in range(NUM_HALVINGS))]


@dataclass
class Trial:
    """Three tests on the same requests, each at a third of the level (Bonferroni).

    Answers of the same second are one group where it is counted how many are slow: one short delay
    of the machine makes all of them slow.
    """

    max_disagreement: float
    max_slowdown: float
    failures: ShareTest = field(init=False)
    rows: ShareTest = field(init=False)
    slow: ShareTest = field(init=False)
    second: int = 0
    slow_in_second: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.failures = ShareTest(0.001, 0.019, ALPHA / 3)
        self.rows = ShareTest(self.max_disagreement, 0.15, ALPHA / 3)
        self.slow = ShareTest(0.1, 0.4, ALPHA / 3)

    def add_failure(self) -> None:
        """Count one request that the canary failed to answer."""
        self.failures.add(1, 1)

    def add_answer(self, num_rows: int, num_differing: int, *, slow: bool, now_s: float) -> None:
        """Count one request that both answered, at `now_s` on any clock."""
        self.failures.add(1, 0)
        self.rows.add(num_rows, num_differing)
        if self.slow_in_second and int(now_s) != self.second:
            self.slow.add(len(self.slow_in_second), sum(self.slow_in_second))
            self.slow_in_second.clear()
        self.second = int(now_s)
        self.slow_in_second.append(slow)

    @property
    def verdict(self) -> str | None:
        """Why the canary is taken out of service, or None."""
        if self.failures.failed:
            return f"failures: {self.failures.counts} requests"
        if self.rows.failed:
            return (
                f"answers that differ from the champion's: {self.rows.counts} rows, more than "
                f"{self.max_disagreement:.3g} of them"
            )
        if self.slow.failed:
            return (
                f"answers that take {self.max_slowdown:g} times as long: "
                f"{self.slow.counts} requests"
            )
        return None
