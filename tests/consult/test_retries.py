"""Retries, without their waits."""

import asyncio

import pytest

from plumbline_consult.replies import AgentError
from plumbline_consult.retries import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    choose_wait,
    parse_retry_after,
    try_repeatedly,
)


class FailingCall:
    """Fails with these errors, then answers."""

    def __init__(self, *errors: AgentError) -> None:
        self.errors = list(errors)
        self.num_calls = 0
        self.waits: list[float] = []

    async def attempt(self) -> str:
        self.num_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def run(self, attempts: int = 3, seconds_left: float = 1e9) -> str:
        return asyncio.run(try_repeatedly(self.attempt, attempts, lambda: seconds_left, self.sleep))


def build_error(may_retry: bool = True, retry_after_s: float = 0.0) -> AgentError:
    return AgentError("unavailable", "x", may_retry=may_retry, retry_after_s=retry_after_s)


def test_it_asks_again_until_there_is_an_answer() -> None:
    call = FailingCall(build_error(), build_error())
    assert call.run() == "answer"
    assert call.num_calls == 3
    assert len(call.waits) == 2


def test_it_gives_up_after_the_last_attempt() -> None:
    call = FailingCall(*[build_error() for _ in range(5)])
    with pytest.raises(AgentError):
        call.run(attempts=3)
    assert (call.num_calls, len(call.waits)) == (3, 2)


def test_what_cannot_be_repaired_is_not_repeated() -> None:
    call = FailingCall(build_error(may_retry=False))
    with pytest.raises(AgentError):
        call.run()
    assert call.num_calls == 1


def test_retry_after_is_the_least_that_is_waited() -> None:
    call = FailingCall(build_error(retry_after_s=7.0))
    assert call.run() == "answer"
    assert 7.0 <= call.waits[0] <= 7.0 + FIRST_WAIT_S


def test_nobody_waits_beyond_the_deadline() -> None:
    call = FailingCall(build_error(retry_after_s=7.0))
    with pytest.raises(AgentError):
        call.run(seconds_left=6.0)
    assert call.waits == []


def test_jitter_is_full_and_grows_to_a_limit() -> None:
    for number, longest in [(1, FIRST_WAIT_S), (2, 2 * FIRST_WAIT_S), (30, LONGEST_WAIT_S)]:
        waits = [choose_wait(number, 0.0) for _ in range(500)]
        assert 0 <= min(waits) < 0.1 * longest
        assert 0.9 * longest < max(waits) <= longest


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 0), ("7", 7), ("-1", 0), ("soon", 0), ("٣", 0)],
)
def test_a_retry_after_header(text: str, seconds: float) -> None:
    assert parse_retry_after(text) == seconds
