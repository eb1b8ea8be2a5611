"""Ask one agent within its limits: time, attempts, requests at the same time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from plumbline_consult.agents import AgentEntry, AgentsFile
from plumbline_consult.endpoint import EndpointClient
from plumbline_consult.outcomes import AgentOutcome
from plumbline_consult.prompts import build_prompt, extract_answer, extract_confidence
from plumbline_consult.replies import AgentError, Prompt, Reply
from plumbline_consult.retries import try_repeatedly

MAX_ANSWER_CHARS = 100_000  # it is recorded, compared and shown to other agents
Normalise = Callable[[str], str]


class AgentCaller:
    """One agent with its slots; shared by all questions of a process."""

    def __init__(self, name: str, agent: AgentEntry) -> None:
        self.name = name
        self.agent = agent
        self._client = EndpointClient(name, agent)
        self._slots = asyncio.Semaphore(agent.max_parallel)

    async def ask(
        self, question: str, others: list[str], deadline: float, normalise: Normalise
    ) -> AgentOutcome:
        """Ask until `deadline` of the event loop; the outcome says why there is no answer."""
        loop = asyncio.get_running_loop()
        start = time.monotonic()
        prompt = build_prompt(self.agent, question, others)
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.sleep(0)  # ends here where the deadline has passed: nothing is sent
                reply = await try_repeatedly(
                    lambda: self._attempt(prompt),
                    self.agent.attempts,
                    lambda: deadline - loop.time(),
                )
        except TimeoutError:
            message = "cancelled: no answer before the deadline of the question"
            outcome = AgentOutcome(self.name, reason="timeout", message=message)
        except AgentError as error:
            outcome = AgentOutcome(self.name, reason=error.reason, message=str(error))
        else:
            outcome = self._read(reply, normalise)
        outcome.seconds = time.monotonic() - start
        return outcome

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def _attempt(self, prompt: Prompt) -> Reply:
        """Send one request in its turn; the time limit begins when it is sent."""
        async with self._slots:
            try:
                async with asyncio.timeout(self.agent.timeout_s):
                    return await self._client.respond(prompt)
            except TimeoutError:
                message = f"timeout: no complete response within {self.agent.timeout_s:g} s"
                raise AgentError("timeout", message, may_retry=True) from None

    def _read(self, reply: Reply, normalise: Normalise) -> AgentOutcome:
        agent, usage = self.agent, reply.usage
        prompt_cost = agent.price.prompt * usage.prompt_tokens
        cost = (prompt_cost + agent.price.completion * usage.completion_tokens) / 1000
        outcome = AgentOutcome(self.name, usage=usage, cost=cost, is_truncated=reply.is_truncated)
        text = extract_answer(reply.text, agent.answer_after, agent.confidence_after)
        answer = normalise(text)
        if len(answer) > MAX_ANSWER_CHARS:
            outcome.reason = "protocol"
            outcome.message = f"the answer has {len(answer):,} characters; ask for a short one"
            return outcome
        outcome.answer = answer
        if agent.confidence_after:
            outcome.confidence = extract_confidence(reply.text, agent.confidence_after)
        return outcome


@asynccontextmanager
async def open_team(file: AgentsFile) -> AsyncIterator[dict[str, AgentCaller]]:
    """Make every agent ready. Raises ParamsError for one whose key is not set."""
    async with AsyncExitStack() as stack:
        team = {name: AgentCaller(name, agent) for name, agent in file.agents.items()}
        for caller in team.values():
            stack.push_async_callback(caller.close)
        yield team
