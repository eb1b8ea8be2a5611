"""One question: ask as the policy decides, within cost and time, and always give an answer."""

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from plumbline.consulting.calling import CLOCK_STEP_S, AgentCaller
from plumbline.consulting.outcomes import AgentOutcome, Bill, sum_costs
from plumbline.consulting.policy import Policy, PolicyDecision
from plumbline.consulting.prompts import list_others
from plumbline.contract.errors import PlumblineError

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


class Consultation:
    """Consults one team of agents by one policy; questions may be consulted at the same time."""

    def __init__(
        self, team: Mapping[str, AgentCaller], policy: Policy, observers: Sequence[Observer] = ()
    ) -> None:
        self._team = team
        self._policy = policy
        self._observers = observers

    async def consult(self, question: Question, terms: Terms) -> ConsultationResult:
        """Answer `question`; at the deadline, what is still running is cancelled.

        Raises PlumblineError where the policy fails before any agent was asked.
        """
        deadline = asyncio.get_running_loop().time() + terms.deadline_s
        course = Course(question, terms, deadline)
        try:
            async with asyncio.timeout_at(deadline):
                await self._play(course)
                if terms.asks_all:
                    await self._ask_rest(course)
        except TimeoutError:
            if course.decision.ask or not course.is_decided:
                await self._end_late(course)
        return _build_result(course)

    async def _play(self, course: Course) -> None:
        """Ask whom the policy names until it names nobody; each agent is asked once."""
        await self._decide(course)
        while course.decision.ask and course.ending == "decided":
            names = course.decision.ask
            wrong = [name for name in names if name not in self._team or name in course.asked]
            if wrong:
                reason = "a second time" if wrong[0] in self._team else "who is not in agents.yaml"
                course.end("policy", f"the policy asks for {wrong[0]}, {reason}")
                return
            await self._ask_several(course, dict.fromkeys(names), "policy")
            await self._decide(course)

    async def _decide(self, course: Course) -> None:
        """Let the policy look; where it fails after answers were paid for, keep the best so far."""
        left = max(0.0, course.terms.max_cost - sum_costs(course.outcomes).cost)
        try:
            decision = await self._policy.decide(course.asked, course.answers, left)
        except PlumblineError as error:
            if not course.outcomes:
                raise
            course.end("policy", str(error))
            return
        course.decision = decision
        course.is_decided = True
        for observer in self._observers:
            observer.show_decision(course.question, decision)

    async def _end_late(self, course: Course) -> None:
        """Let the policy look at what arrived before the deadline, and ask nobody more."""
        if course.outcomes:
            await self._decide(course)
        course.end("deadline", f"the deadline of {course.terms.deadline_s:g} s has passed")

    async def _ask_rest(self, course: Course) -> None:
        """Ask whom the policy did not, first those who see nothing of the others."""
        for sees_others in (False, True):
            rest = [
                name
                for name, caller in self._team.items()
                if name not in course.asked and caller.agent.sees_others == sees_others
            ]
            await self._ask_several(course, rest, "ask_all")

    async def _ask_several(
        self, course: Course, names: Iterable[str], chosen: Literal["policy", "ask_all"]
    ) -> None:
        """Ask at the same time; agents that see others see what was known before."""
        others = list_others(course.question.text, course.answers)
        calls = []
        for name in names:
            caller = self._team[name]
            shown = others if caller.agent.sees_others else []
            asking = Asking(chosen, len(shown), course.terms.asks_all)
            calls.append(self._ask(course, caller, shown, asking))
        await run_together(calls)

    async def _ask(
        self, course: Course, caller: AgentCaller, others: list[str], asking: Asking
    ) -> None:
        for observer in self._observers:
            observer.start_agent(course.question, caller.name)
        try:
            outcome = await caller.ask(course.question.text, others, course.num_seconds_left)
        except asyncio.CancelledError:
            if course.is_late():  # else somebody pressed Ctrl-C: nothing is known
                self._end_agent(course, _build_late_outcome(caller.name), asking)
            raise
        self._end_agent(course, outcome, asking)

    def _end_agent(self, course: Course, outcome: AgentOutcome, asking: Asking) -> None:
        course.outcomes.append(outcome)
        for observer in self._observers:
            observer.end_agent(course.question, outcome, asking)


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


def _describe_outcome(outcome: AgentOutcome) -> dict[str, Any]:
    return {
        "agent": outcome.agent,
        "answer": outcome.answer,
        "status": outcome.status,
        "message": outcome.message,
        "tokens": outcome.num_tokens,
        "cost": outcome.cost,
        "estimated": outcome.is_estimate,
        "seconds": round(outcome.seconds, 3),
    }


def _build_late_outcome(agent: str) -> AgentOutcome:
    message = "cancelled: no answer before the deadline of the question"
    return AgentOutcome(agent, "", "timeout", message, None, 0.0, 0.0, num_unknown=1)


def _build_result(course: Course) -> ConsultationResult:
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
