"""What is known of one question while agents are asked, and what comes of it."""

import asyncio
import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from plumbline_consult.calling import CLOCK_STEP_S
from plumbline_consult.outcomes import AgentOutcome, Bill, sum_costs
from plumbline_consult.policy import KnownAnswers, PolicyDecision

Ending = Literal["decided", "deadline", "policy"]
UNDECIDED = PolicyDecision((), "", 0.0, [])


@dataclass(frozen=True)
class Question:
    """What is asked, and the name by which its gold answer is joined later."""

    id: str
    text: str


@dataclass(frozen=True)
class Terms:
    """The limits of one consultation."""

    deadline_s: float
    max_cost: float
    asks_all: bool = False  # put the question to every agent once the policy has decided
    agents_at_once: int = 1  # asked before the policy looks again


@dataclass(frozen=True)
class ConsultationResult:
    """The answer, how it came about, and what it cost."""

    question: Question
    answer: str
    confidence: float
    votes: list[dict[str, object]]
    ending: Ending
    message: str  # why it ended, where the policy did not decide
    outcomes: list[AgentOutcome]
    bill: Bill


@dataclass(frozen=True)
class Asking:
    """How it came that an agent was asked."""

    chosen: Literal["policy", "ask_all"]
    num_others: int  # answers of others that it was shown
    asks_all: bool  # every agent is asked this question, whatever the policy says


class Observer:
    """Hears of every step while it happens; does nothing by itself."""

    def start_agent(self, question: Question, agent: str) -> None:
        """An agent is being asked."""

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        """An agent has answered or failed."""

    def show_decision(self, question: Question, decision: PolicyDecision) -> None:
        """The policy has looked at what is known."""


@dataclass
class Course:
    """What is known so far."""

    question: Question
    terms: Terms
    deadline: float  # in the time of the event loop
    outcomes: list[AgentOutcome] = field(default_factory=list)
    decision: PolicyDecision = UNDECIDED
    is_decided: bool = False  # the policy has looked at least once
    ending: Ending = "decided"
    message: str = ""

    @property
    def asked(self) -> list[str]:
        """The agents that were asked and have answered or failed."""
        return [outcome.agent for outcome in self.outcomes]

    @property
    def answers(self) -> list[str]:
        """Their answers, empty where one failed."""
        return [outcome.answer for outcome in self.outcomes]

    def list_known(self, pending: tuple[str, ...] = ()) -> KnownAnswers:
        """What the policy may look at; `pending` are being asked."""
        left = max(0.0, self.terms.max_cost - sum_costs(self.outcomes).cost)
        stated = [outcome.confidence for outcome in self.outcomes]
        return KnownAnswers(self.asked, self.answers, stated, left, pending)

    def num_seconds_left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.deadline - asyncio.get_running_loop().time()

    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.num_seconds_left() <= CLOCK_STEP_S

    def end(self, ending: Ending, message: str) -> None:
        """Note why it ended, unless another reason came first."""
        if self.ending == "decided":
            self.ending = ending
            self.message = message


def is_for_all(question: Question, share: float) -> bool:
    """Whether this question is among the `share` that is put to every agent: the same each time."""
    digest = hashlib.sha256(b"ask_all:" + question.id.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def name_question(text: str) -> str:
    """The id of a question that has none: equal for texts that differ in case and blanks only."""
    plain = " ".join(text.split()).casefold()
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]


def build_result(course: Course) -> ConsultationResult:
    """What a consultation is about to return."""
    decision = course.decision
    return ConsultationResult(
        course.question,
        decision.answer,
        decision.confidence,
        decision.votes,
        course.ending,
        course.message,
        course.outcomes,
        sum_costs(course.outcomes),
    )


def describe_as_json(result: ConsultationResult) -> dict[str, Any]:
    """A result as JSON values: the answer, who was asked, and the bill."""
    return {
        "question_id": result.question.id,
        "question": result.question.text,
        "answer": result.answer,
        "confidence": result.confidence,
        "votes": result.votes,
        "ending": result.ending,
        "message": result.message,
        "asked": [_describe_outcome(outcome) for outcome in result.outcomes],
        **asdict(result.bill),
    }


def _describe_outcome(outcome: AgentOutcome) -> dict[str, Any]:
    return {
        "agent": outcome.agent,
        "answer": outcome.answer,
        "confidence": outcome.confidence,
        "status": outcome.status,
        "message": outcome.message,
        "tokens": outcome.num_tokens,
        "cost": outcome.cost,
        "estimated": outcome.is_estimate,
        "seconds": round(outcome.seconds, 3),
    }
