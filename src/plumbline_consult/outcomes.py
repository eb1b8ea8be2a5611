"""What came of asking one agent, what it cost, and the sum over several."""

from collections.abc import Iterable
from dataclasses import dataclass

from plumbline_consult.replies import Reason, Usage

ANSWERED = "answered"


@dataclass
class AgentOutcome:
    """One agent's answer to one question, or the reason why there is none."""

    agent: str
    answer: str = ""  # as the policy sees it; empty where there is none
    reason: Reason | None = None  # None: it answered
    message: str = ""
    usage: Usage | None = None  # of the request that was answered
    cost: float = 0.0  # dollars
    seconds: float = 0.0
    is_truncated: bool = False
    confidence: float | None = None  # that the agent stated, 0 to 1

    @property
    def status(self) -> str:
        """The reason why there is no answer, or `answered`."""
        return self.reason or ANSWERED

    @property
    def is_estimate(self) -> bool:
        """Whether the cost rests on an estimate of tokens."""
        return self.usage is not None and self.usage.is_estimate

    @property
    def num_tokens(self) -> int:
        """Tokens of the request that was answered."""
        return self.usage.num_tokens if self.usage else 0


@dataclass(frozen=True)
class Bill:
    """What asking cost in all."""

    cost: float  # dollars, estimates included
    estimated_cost: float
    num_tokens: int


def sum_costs(outcomes: Iterable[AgentOutcome]) -> Bill:
    """Add up what agents cost."""
    listed = list(outcomes)
    return Bill(
        sum(outcome.cost for outcome in listed),
        sum(outcome.cost for outcome in listed if outcome.is_estimate),
        sum(outcome.num_tokens for outcome in listed),
    )
