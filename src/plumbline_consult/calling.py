"""Ask one agent within its limits: time, attempts, requests at the same time, circuit breaker."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from plumbline_consult.agents import AnyAgent, TextWriter
from plumbline_consult.breaker import CircuitBreaker
from plumbline_consult.outcomes import AgentOutcome, compute_cost
from plumbline_consult.prompts import build_prompt, extract_answer, extract_confidence
from plumbline_consult.replies import AgentError, Prompt, Reason, Reply, Responder
from plumbline_consult.retries import try_repeatedly

MAX_ANSWER_CHARS = 100_000  # it is recorded, compared and shown to other agents
CLOCK_STEP_S = 0.05  # a timer may fire this much before its time
Normalise = Callable[[str], str]


@dataclass
class Attempts:
    """What is counted while one agent is asked."""

    num_unknown: int = 0


class AgentCaller:
    """One agent with its breaker and its slots; shared by all questions of a process."""

    def __init__(
        self,
        name: str,
        agent: AnyAgent,
        responder: Responder,
        normalise: Normalise,
        slots: asyncio.Semaphore,
    ) -> None:
        self.name = name
        self.agent = agent
        self.breaker = CircuitBreaker(agent.breaker)
        self._last_failure = ""
        self._responder = responder
        self._normalise = normalise
        self._slots = slots
        self._own_slots = asyncio.Semaphore(agent.max_parallel)

    async def ask(
        self, question: str, others: list[str], num_seconds_left: Callable[[], float]
    ) -> AgentOutcome:
        """Ask; the outcome says why where there is no answer."""
        start = time.monotonic()
        attempts = Attempts()
        prompt = self._build_prompt(question, others)
        try:
            reply = await try_repeatedly(
                lambda: self._attempt(prompt, attempts, num_seconds_left),
                self.agent.attempts,
                num_seconds_left,
            )
        except AgentError as error:
            seconds = time.monotonic() - start
            unknown = attempts.num_unknown
            return AgentOutcome(
                self.name, "", error.reason, str(error), None, 0.0, seconds, unknown
            )
        answer = self._read_answer(reply)
        reason: Reason | None = None
        message = ""
        if len(answer) > MAX_ANSWER_CHARS:
            reason = "protocol"
            message = f"the answer has {len(answer):,} characters; ask for a short one"
            answer = ""
        return AgentOutcome(
            self.name,
            answer,
            reason,
            message,
            reply.usage,
            compute_cost(self.agent, reply.usage),
            time.monotonic() - start,
            attempts.num_unknown,
            reply.is_truncated,
            self._read_confidence(reply),
        )

    async def close(self) -> None:
        """Release what the agent holds."""
        await self._responder.close()

    async def _attempt(
        self, prompt: Prompt, attempts: Attempts, num_seconds_left: Callable[[], float]
    ) -> Reply:
        """Send one request in its turn, unless the breaker is open; the breaker hears how it went.

        The time limit begins when the request is sent.
        """
        async with self._own_slots, self._slots:
            if not self.breaker.allow_request():
                raise self._build_paused_error()
            try:
                async with asyncio.timeout(self.agent.timeout_s):
                    reply = await self._responder.respond(prompt)
            except (AgentError, TimeoutError) as error:
                self.breaker.record_failure()
                failure = self._explain_failure(error)
                self._last_failure = str(failure)
                attempts.num_unknown += failure.may_be_billed
                raise failure from None
            except asyncio.CancelledError:
                # At the deadline it was too slow; before it, somebody gave up: not its fault.
                if num_seconds_left() <= CLOCK_STEP_S:
                    self.breaker.record_failure()
                else:
                    self.breaker.forget_request()
                raise
            self.breaker.record_success()
            return reply

    def _explain_failure(self, error: AgentError | TimeoutError) -> AgentError:
        if isinstance(error, AgentError):
            return error
        message = f"timeout: no complete response within {self.agent.timeout_s:g} s"
        return AgentError("timeout", message, may_retry=True, may_be_billed=True)

    def _build_paused_error(self) -> AgentError:
        failures = self.agent.breaker.failures
        message = (
            f"not asked for {self.breaker.seconds_left:.0f} s more: it failed {failures} times"
        )
        return AgentError("paused", f"{message} in a row, last: {self._last_failure}")

    def _build_prompt(self, question: str, others: list[str]) -> Prompt:
        if isinstance(self.agent, TextWriter):
            return build_prompt(self.agent, question, others)
        return Prompt(question)

    def _read_answer(self, reply: Reply) -> str:
        if isinstance(self.agent, TextWriter):
            entry = self.agent
            answer = extract_answer(reply.text, entry.answer_after, entry.confidence_after)
            return self._normalise(answer)
        return self._normalise(reply.text)

    def _read_confidence(self, reply: Reply) -> float | None:
        if isinstance(self.agent, TextWriter) and self.agent.confidence_after:
            return extract_confidence(reply.text, self.agent.confidence_after)
        return reply.confidence
