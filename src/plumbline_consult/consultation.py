"""One question: ask as the policy decides, within cost and time, and always give an answer."""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from plumbline.contract.errors import PlumblineError
from plumbline_consult.calling import AgentCaller, AgentOutcome, Team
from plumbline_consult.chat_protocol import list_others
from plumbline_consult.policy import Policy, PolicyDecision, load_normaliser

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


Listener = Callable[[Course, AgentOutcome], None]  # called when an agent has answered or failed


@dataclass(frozen=True)
class Consultation:
    """Consults one team of agents by one policy; questions may be consulted at the same time."""

    team: Team
    policy: Policy
    listeners: Sequence[Listener] = ()

    async def consult(self, question: Question) -> Course:
        """Answer `question`; at the deadline, what is still running is cancelled.

        Raises PlumblineError where the policy fails before any agent was asked.
        """
        deadline = asyncio.get_running_loop().time() + self.team.file.deadline_s
        asks_all = is_for_all(question, self.team.file.ask_all)
        course = Course(question, deadline, self.team.file.max_cost, asks_all)
        await self._follow_policy(course)
        if asks_all:
            await self._ask_rest(course)
        return course

    async def _follow_policy(self, course: Course) -> None:
        """Ask whom the policy names until it names nobody."""
        await self._decide(course)
        while course.decision.ask and course.ending == "decided":
            await self._ask_several(course, course.decision.ask)
            await self._decide(course)
            if course.is_late() and course.ending == "decided":
                course.ending = "deadline"
                course.message = f"the deadline of {self.team.file.deadline_s:g} s has passed"

    async def _decide(self, course: Course) -> None:
        """Let the policy look; where it fails after answers were paid for, keep the best so far."""
        try:
            left = max(0.0, course.max_cost - course.cost)
            course.decision = await self.policy.decide(course.outcomes, left)
        except PlumblineError as error:
            if not course.outcomes:
                raise
            course.ending = "policy"
            course.message = str(error)

    async def _ask_rest(self, course: Course) -> None:
        """Ask whom the policy did not, first those who see nothing of the others.

        After the deadline nothing is sent: records of this question name every agent.
        """
        asked = {outcome.agent for outcome in course.outcomes}
        agents = self.team.file.agents
        rest = [name for name in agents if name not in asked]
        for sees_others in (False, True):
            same = [name for name in rest if agents[name].sees_others == sees_others]
            await self._ask_several(course, same)

    async def _ask_several(self, course: Course, names: Iterable[str]) -> None:
        """Ask at the same time; agents that see others see what was known before."""
        others = list_others(course.question.text, (one.answer for one in course.outcomes))
        await run_together(self._ask(course, self.team.callers[name], others) for name in names)

    async def _ask(self, course: Course, caller: AgentCaller, others: list[str]) -> None:
        shown = others if caller.agent.sees_others else []
        text = course.question.text
        normalise = load_normaliser(self.policy.form)
        outcome = await caller.ask(text, shown, course.deadline, normalise)
        course.outcomes.append(outcome)
        for listener in self.listeners:
            listener(course, outcome)


async def run_together(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run `calls` at the same time; the first that fails ends all, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


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
        "asked": list(map(asdict, course.outcomes)),
        "cost": course.cost,
        "num_tokens": course.num_tokens,
    }
