"""One question: its limits, what is known while agents are asked, and how it ended."""

import asyncio
import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from plumbline_consult.calling import AgentOutcome
from plumbline_consult.policy import PolicyDecision

CLOCK_STEP_S = 0.05  # a timer may fire this much before its time
Ending = Literal["decided", "deadline", "policy"]
UNDECIDED = PolicyDecision((), "", 0.0, [])


@dataclass(frozen=True)
class Question:
    """What is asked, and the name by which its gold answer is joined later."""

    id: str
    text: str


@dataclass
class Course:
    """One question, and what is known so far."""

    question: Question
    deadline: float  # in the time of the event loop
    max_cost: float  # dollars
    asks_all: bool  # every agent is asked, whatever the policy says
    outcomes: list[AgentOutcome] = field(default_factory=list)
    decision: PolicyDecision = UNDECIDED
    ending: Ending = "decided"
    message: str = ""  # why it ended, where the policy did not decide

    @property
    def cost(self) -> float:
        """Dollars that it cost so far."""
        return sum(outcome.cost for outcome in self.outcomes)

    @property
    def num_tokens(self) -> int:
        """Tokens of the requests that were answered."""
        return sum(outcome.tokens for outcome in self.outcomes)

    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline - asyncio.get_running_loop().time() <= CLOCK_STEP_S


def is_for_all(question: Question, share: float) -> bool:
    """Whether this question is among the `share` that is put to every agent: the same each time."""
    digest = hashlib.sha256(b"ask_all:" + question.id.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def name_question(text: str) -> str:
    """The id of a question that has none: equal for texts that differ in case and blanks only."""
    plain = " ".join(text.split()).casefold()
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]


def describe_as_json(course: Course) -> dict[str, Any]:
    """What came of a question as JSON values: the answer, who was asked, and the bill."""
    return {
        "question_id": course.question.id,
        "question": course.question.text,
        "answer": course.decision.answer,
        "confidence": course.decision.confidence,
        "votes": course.decision.votes,
        "ending": course.ending,
        "message": course.message,
        "asked": [asdict(outcome) for outcome in course.outcomes],
        "cost": course.cost,
        "num_tokens": course.num_tokens,
    }
