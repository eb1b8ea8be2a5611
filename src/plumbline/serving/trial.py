"""A canary's trial: a sequential test finds out, as early as possible, whether it is worse.

Sequential probability ratio test: A. Wald, Sequential Tests of Statistical Hypotheses,
Ann. Math. Stat. 16 (1945).
"""

import math
from dataclasses import dataclass, field

from plumbline.serving.settings import Canary

ALPHA = 0.01  # chance that a sound canary is returned
BETA = 0.05  # chance that a bad canary is missed


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
class Trial:
    """Three tests on the same requests, each at a third of the level (Bonferroni)."""

    canary: Canary
    tests: dict[str, Sprt] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.canary.max_disagreement
        slowdown = self.canary.max_slowdown
        self.tests = {
            "failures": Sprt(0.001, 0.02, ALPHA / 3),
            "answers that differ from the champion's": Sprt(limit / 3, limit, ALPHA / 3),
            f"answers that take {slowdown:g} times as long": Sprt(0.1, 0.5, ALPHA / 3),
        }

    def add(self, *, failed: bool, differs: bool, slow: bool) -> None:
        """Count one request that both answered, or that the canary failed to answer."""
        for test, bad in zip(self.tests.values(), (failed, differs, slow), strict=True):
            if not test.passed:
                test.add(bad)

    @property
    def verdict(self) -> str | None:
        """Why the canary is taken out of service, or None."""
        for name, test in self.tests.items():
            if test.failed:
                return f"{name}: {test.num_bad} of {test.num_events}"
        return None
