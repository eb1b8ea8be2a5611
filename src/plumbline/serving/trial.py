"""A canary's trial: sequential tests find out, as early as possible, whether it is worse.

Shares of requests (failures, slow answers): sequential probability ratio test: A. Wald, Sequential
Tests of Statistical Hypotheses, Ann. Math. Stat. 16 (1945). Shares of rows (answers that differ):
a test by betting: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by
betting, J. R. Stat. Soc. B 86 (2024).
"""

import math
from dataclasses import dataclass, field

ALPHA = 0.01  # chance that a sound canary is returned
BETA = 0.05  # chance that a bad canary is missed
# An excess of this size is found soonest; the level holds whatever it is.
EXCESS = 0.15


@dataclass
class Sprt:
    """Test whether a share is `sound` or `worse`; valid however often it is evaluated."""

    sound: float
    worse: float
    alpha: float = ALPHA
    log_ratio: float = 0.0  # log likelihood of `worse` minus that of `sound`
    num_events: int = 0
    num_bad: int = 0

    def add(self, bad: bool) -> None:
        """Count one event."""
        self.num_events += 1
        if bad:
            self.num_bad += 1
            self.log_ratio += math.log(self.worse / self.sound)
        else:
            self.log_ratio += math.log((1 - self.worse) / (1 - self.sound))

    @property
    def failed(self) -> bool:
        """Whether the share is worse, at level `alpha`."""
        return self.log_ratio >= math.log((1 - BETA) / self.alpha)

    @property
    def passed(self) -> bool:
        """Whether the share is sound."""
        return self.log_ratio <= math.log(BETA / (1 - self.alpha))


@dataclass
class RowsTest:
    """Test whether more than `limit` of the rows differ; valid however often it is evaluated.

    A bet against each request: the stake depends on its number of rows alone, the gain on the share
    of them that differs. While that share is `limit` or less on average, the product of the gains
    ever reaches 1 / alpha with a chance of `alpha` at most (Ville's inequality), also where the
    rows of a request are alike.
    """

    limit: float  # 1 or more: nothing can be too much
    alpha: float = ALPHA
    log_gains: float = 0.0
    num_rows: int = 0
    num_differing: int = 0

    def add(self, num_rows: int, num_differing: int) -> None:
        """Count the rows of one request."""
        self.num_rows += num_rows
        self.num_differing += num_differing
        if 0 < self.limit < 1:
            excess = num_differing / num_rows - self.limit
            self.log_gains += math.log1p(self._choose_stake(num_rows) * excess)

    @property
    def failed(self) -> bool:
        """Whether too many rows differ, at level `alpha`."""
        return self.log_gains >= -math.log(self.alpha)

    def _choose_stake(self, num_rows: int) -> float:
        """The best stake against EXCESS (Kelly's); of one row as much as Wald's test implies."""
        variance = self.limit * (1 - self.limit) / num_rows
        return min(EXCESS / variance, 0.75 / self.limit)


@dataclass
class Trial:
    """Three tests on the same requests, each at a third of the level (Bonferroni)."""

    max_disagreement: float
    max_slowdown: float
    failures: Sprt = field(init=False)
    rows: RowsTest = field(init=False)
    slow: Sprt = field(init=False)

    def __post_init__(self) -> None:
        self.failures = Sprt(0.001, 0.02, ALPHA / 3)
        self.rows = RowsTest(self.max_disagreement, ALPHA / 3)
        self.slow = Sprt(0.1, 0.5, ALPHA / 3)

    def add_failure(self) -> None:
        """Count one request that the canary failed to answer."""
        if not self.failures.passed:
            self.failures.add(bad=True)

    def add_answer(self, num_rows: int, num_differing: int, *, slow: bool) -> None:
        """Count one request that both answered."""
        self.rows.add(num_rows, num_differing)
        if not self.failures.passed:
            self.failures.add(bad=False)
        if not self.slow.passed:
            self.slow.add(slow)

    @property
    def verdict(self) -> str | None:
        """Why the canary is taken out of service, or None."""
        if self.failures.failed:
            return f"failures: {self.failures.num_bad} of {self.failures.num_events} requests"
        if self.rows.failed:
            return (
                f"answers that differ from the champion's: {self.rows.num_differing} of "
                f"{self.rows.num_rows} rows, more than {self.max_disagreement:.3g} of them"
            )
        if self.slow.failed:
            return (
                f"answers that take {self.max_slowdown:g} times as long: "
                f"{self.slow.num_bad} of {self.slow.num_events} requests"
            )
        return None
