"""One question: ask as the policy decides, within cost and time, and always give an answer."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline_consult.agents import AgentsFile
from plumbline_consult.answer_forms import load_normaliser
from plumbline_consult.calling import AgentCaller, AgentOutcome
from plumbline_consult.course import Course, Question, is_for_all
from plumbline_consult.policy import Policy
from plumbline_consult.prompts import list_others

Listener = Callable[[Course, AgentOutcome], None]  # called when an agent has answered or failed


@dataclass(frozen=True)
class Consultation:
    """Consults one team of agents by one policy; questions may be consulted at the same time."""

    file: AgentsFile
    team: Mapping[str, AgentCaller]
    policy: Policy
    listeners: Sequence[Listener] = ()

    async def consult(self, question: Question) -> Course:
        """Answer `question`; at the deadline, what is still running is cancelled.

        Raises PlumblineError where the policy fails before any agent was asked.
        """
        deadline = asyncio.get_running_loop().time() + self.file.deadline_s
        asks_all = is_for_all(question, self.file.ask_all)
        course = Course(question, deadline, self.file.max_cost, asks_all)
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
                course.message = f"the deadline of {self.file.deadline_s:g} s has passed"

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
        rest = [name for name in self.team if name not in asked]
        for sees_others in (False, True):
            same = [name for name in rest if self.team[name].agent.sees_others == sees_others]
            await self._ask_several(course, same)

    async def _ask_several(self, course: Course, names: Iterable[str]) -> None:
        """Ask at the same time; agents that see others see what was known before."""
        others = list_others(course.question.text, (one.answer for one in course.outcomes))
        await run_together(self._ask(course, self.team[name], others) for name in names)

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
