"""Ask one agent within its limits: time, attempts, requests at the same time."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from plumbline_consult.agents import AgentEntry, AgentsFile
from plumbline_consult.chat_protocol import (
    AgentError,
    Messages,
    Reply,
    build_messages,
    extract_answer,
)
from plumbline_consult.endpoint import EndpointClient

FIRST_WAIT_S = 0.5
Normalise = Callable[[str], str]


@dataclass
class AgentOutcome:
    """One agent's answer to one question, or the reason why there is none."""

    agent: str
    answer: str = ""  # as the policy sees it; empty where there is none
    message: str = ""  # why there is no answer; empty where it answered
    tokens: int = 0  # of the request that was answered
    cost: float = 0.0  # dollars
    seconds: float = 0.0
    truncated: bool = False


class AgentCaller:
    """One agent with its slots; shared by all questions of a process."""

    def __init__(self, name: str, agent: AgentEntry) -> None:
        self.name = name
        self.agent = agent
        self.client = EndpointClient(name, agent)
        self._slots = asyncio.Semaphore(agent.max_parallel)

    async def ask(
        self, question: str, others: list[str], deadline: float, normalise: Normalise
    ) -> AgentOutcome:
        """Ask until `deadline` of the event loop; the outcome says why there is no answer."""
        start = time.monotonic()
        messages = build_messages(self.agent, question, others)
        outcome = AgentOutcome(self.name)
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.sleep(0)  # ends here where the deadline has passed: nothing is sent
                reply = await self._try_repeatedly(messages, deadline)
            outcome = self._read(reply, normalise)
        except TimeoutError:
            outcome.message = "cancelled: no answer before the deadline of the question"
        except AgentError as error:
            outcome.message = str(error)
        outcome.seconds = round(time.monotonic() - start, 3)
        return outcome

    async def _try_repeatedly(self, messages: Messages, deadline: float) -> Reply:
        """Raise the last AgentError: at once where asking again cannot help before `deadline`."""
        for number in range(1, self.agent.attempts + 1):
            try:
                return await self._attempt(messages)
            except AgentError as error:
                longest = FIRST_WAIT_S * 2 ** (number - 1)
                jitter = random.uniform(0, longest)  # noqa: S311  spreads load, no secret
                wait = error.retry_after_s + jitter
                is_late = asyncio.get_running_loop().time() + wait >= deadline
                if not error.may_retry or number == self.agent.attempts or is_late:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("attempts is at least 1")

    async def _attempt(self, messages: Messages) -> Reply:
        """Send one request in its turn; the time limit begins when it is sent."""
        async with self._slots:
            try:
                async with asyncio.timeout(self.agent.timeout_s):
                    return await self.client.respond(messages)
            except TimeoutError:
                message = f"timeout: no complete response within {self.agent.timeout_s:g} s"
                raise AgentError(message, may_retry=True) from None

    def _read(self, reply: Reply, normalise: Normalise) -> AgentOutcome:
        agent = self.agent
        cost = agent.price.prompt * reply.prompt_tokens
        cost += agent.price.completion * reply.completion_tokens
        return AgentOutcome(
            self.name,
            normalise(extract_answer(reply.text, agent.answer_after)),
            tokens=reply.prompt_tokens + reply.completion_tokens,
            cost=cost / 1000,
            truncated=reply.is_truncated,
        )


class Team:
    """All agents, and places for the questions that are asked at the same time.

    Raises ParamsError for an agent whose key is not set.
    """

    def __init__(self, file: AgentsFile) -> None:
        self.file = file
        self.callers = {name: AgentCaller(name, agent) for name, agent in file.agents.items()}
        self.places = asyncio.Semaphore(file.max_questions)

    async def close(self) -> None:
        """Close all connections."""
        for caller in self.callers.values():
            await caller.client.close()
