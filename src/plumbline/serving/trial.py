"""A canary's trial: tests find out whether it is worse, or becomes worse, for as long as it lasts.

Tests by betting: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by
betting, J. R. Stat. Soc. B 86 (2024); a bet for each time at which it may have become worse:
J. Shin, A. Ramdas and A. Rinaldo, E-detectors, New Engl. J. Stat. Data Sci. 2 (2024).
"""

from dataclasses import dataclass, field

ALPHA = 0.01  # chance that a sound canary is ever returned


@dataclass
class ShareTest:
    """Test whether more than `limit` of some events are bad, from the start or from any time on.

    At each group of events (such as the rows of a request) a new gambler begins to bet against
    that and all later groups: the stake depends on the number of events alone, the gain on the
    share of them that is bad. Gambler k has 1 / (k (k + 1)) of one unit, which sums to that unit.
    While the share is `limit` or less on average, whatever came before, what all have together
    ever reaches 1 / alpha with a chance of `alpha` at most (Ville's inequality), however often it
    is evaluated, and also where the events of a group are alike.
    """

    limit: float  # 1 or more: nothing can be too much
    excess: float  # one of this size is found soonest; the level holds whatever it is
    alpha: float = ALPHA
    wealth: float = 0.0  # of those who have begun
    best_gain: float = 1.0  # of the gambler who began at the best time
    num_events: int = 0  # since that time
    num_bad: int = 0
    num_groups: int = 0

    def add(self, num_events: int, num_bad: int) -> None:
        """Count one group of events."""
        if not 0 < self.limit < 1:
            return
        gain = 1 + self._choose_stake(num_events) * (num_bad / num_events - self.limit)
        self.num_groups += 1
        self.wealth = (self.wealth + 1 / (self.num_groups * (self.num_groups + 1))) * gain
        if self.best_gain <= 1:
            self.best_gain, self.num_events, self.num_bad = 1.0, 0, 0
        self.best_gain *= gain
        self.num_events += num_events
        self.num_bad += num_bad

    @property
    def failed(self) -> bool:
        """Whether too many events are bad, at level `alpha`."""
        return self.wealth >= 1 / self.alpha

    @property
    def counts(self) -> str:
        """How many were bad since they became too many."""
        return f"{self.num_bad} of the last {self.num_events}"

    def _choose_stake(self, num_events: int) -> float:
        """The best stake against `excess` (Kelly's); of one event, that of Wald's ratio test."""
        variance = self.limit * (1 - self.limit) / num_events
        return min(self.excess / variance, 0.75 / self.limit)


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
