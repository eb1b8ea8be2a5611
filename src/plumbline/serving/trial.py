"""A canary's trial: Wald's sequential test says, as early as may be, whether it is worse than the champion.

Sequential probability ratio test: A. Wald, Sequential Tests of Statistical Hypotheses, Ann. Math. Stat. 16 (1945).
"""

import math
from dataclasses import dataclass, field

from plumbline.serving.settings import Canary

ALPHA, BETA = (
    0.01,
    0.05,
)  # a sound canary is returned once in a hundred trials, a bad one is missed once in twenty


@dataclass
class Sprt:
    """Whether a share is `sound` or `worse`; looked at after every event."""

    sound: float
    worse: float
    alpha: float = ALPHA
    ratio: float = 0.0  # log likelihood, worse to sound
    num_events: int = 0
    num_bad: int = 0

    def add(self, bad: bool) -> None:
        """Count one event."""
        self.num_events += 1
        self.num_bad += bad
        self.ratio += math.log(
            self.worse / self.sound if bad else (1 - self.worse) / (1 - self.sound)
        )

    @property
    def failed(self) -> bool:
        """Whether the share is worse, at level alpha however often it is asked."""
        return self.ratio >= math.log((1 - BETA) / self.alpha)

    @property
    def passed(self) -> bool:
        """Whether the share is sound."""
        return self.ratio <= math.log(BETA / (1 - self.alpha))


@dataclass
class Trial:
    """Three questions on the same requests, each at a third of the level (Bonferroni)."""

    canary: Canary
    tests: dict[str, Sprt] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.canary.max_disagreement
        self.tests = {
            "failures": Sprt(0.001, 0.02, ALPHA / 3),
            "other answers than the champion": Sprt(limit / 3, limit, ALPHA / 3),
            f"answers {self.canary.max_slowdown:g} times as slow": Sprt(0.1, 0.5, ALPHA / 3),
        }

    def add(self, *, failed: bool, differs: bool, slow: bool) -> None:
        """One request that both answered, or that the canary failed to answer."""
        for test, bad in zip(self.tests.values(), (failed, differs, slow), strict=True):
            if not test.passed:  # that question is settled
                test.add(bad)

    @property
    def verdict(self) -> str | None:
        """Why the canary has to go, or None."""
        for name, test in self.tests.items():
            if test.failed:
                return f"{name}: {test.num_bad} of {test.num_events}"
        return None
