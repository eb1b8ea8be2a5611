"""One question: ask as the policy decides, within cost and time, and always give an answer."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal

from plumbline.contract.errors import PlumblineError
from plumbline_consult.calling import AgentCaller
from plumbline_consult.course import (
    Asking,
    ConsultationResult,
    Course,
    Observer,
    Question,
    Terms,
    build_result,
)
from plumbline_consult.outcomes import AgentOutcome
from plumbline_consult.policy import Policy
from plumbline_consult.prompts import list_others


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
            if terms.asks_all:
                self._end_unasked(course)
        return build_result(course)

    async def _play(self, course: Course) -> None:
        """Ask whom the policy names until it names nobody; each agent is asked once."""
        await self._decide(course)
        while course.decision.ask and course.ending == "decided":
            names = await self._look_ahead(course)
            wrong = [name for name in names if name not in self._team or name in course.asked]
            if wrong:
                reason = "a second time" if wrong[0] in self._team else "who is not in agents.yaml"
                course.end("policy", f"the policy asks for {wrong[0]}, {reason}")
                return
            await self._ask_several(course, dict.fromkeys(names), "policy")
            await self._decide(course)

    async def _decide(self, course: Course) -> None:
        """Let the policy look; where it fails after answers were paid for, keep the best so far."""
        try:
            decision = await self._policy.decide(course.list_known())
        except PlumblineError as error:
            if not course.outcomes:
                raise
            course.end("policy", str(error))
            return
        course.decision = decision
        course.is_decided = True
        for observer in self._observers:
            observer.show_decision(course.question, decision)

    async def _look_ahead(self, course: Course) -> tuple[str, ...]:
        """Whom to ask at the same time: who is asked next, then who would be if that one failed.

        An agent that sees the answers of others waits for them.
        """
        names = course.decision.ask
        while len(names) < course.terms.agents_at_once and not self._is_waiting(names):
            try:
                more = (await self._policy.decide(course.list_known(names))).ask
            except PlumblineError:
                break  # it can be asked again when they have answered
            if not more or self._is_waiting(more) or set(more) & {*names, *course.asked}:
                break
            names += more
        return names

    def _is_waiting(self, names: Iterable[str]) -> bool:
        """Whether one of them is unknown, or has to see what others answered."""
        return any(name not in self._team or self._team[name].agent.sees_others for name in names)

    async def _end_late(self, course: Course) -> None:
        """Let the policy look at what arrived before the deadline, and ask nobody more."""
        if course.outcomes:
            await self._decide(course)
        course.end("deadline", f"the deadline of {course.terms.deadline_s:g} s has passed")

    def _end_unasked(self, course: Course) -> None:
        """Note whom there was no time to ask: records of this question name every agent."""
        asking = Asking("ask_all", 0, asks_all=True)
        for name in self._team:
            if name not in course.asked:
                self._end_agent(course, _build_late_outcome(name, num_unknown=0), asking)

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


async def run_together(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run `calls` at the same time; the first that fails ends all, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _build_late_outcome(agent: str, num_unknown: int = 1) -> AgentOutcome:
    message = "cancelled: no answer before the deadline of the question"
    return AgentOutcome(agent, "", "timeout", message, None, 0.0, 0.0, num_unknown)
