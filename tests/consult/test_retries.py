"""Retries and the circuit breaker, by their own clock."""

import asyncio
from email.utils import formatdate

import pytest

from plumbline_consult.agents import Breaker
from plumbline_consult.breaker import CircuitBreaker
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
    [("", 0), ("7", 7), (" 7 ", 7), ("-1", 0), ("soon", 0), ("9" * 40, 86400), ("٣", 0)],
)
def test_a_retry_after_header(text: str, seconds: float) -> None:
    assert parse_retry_after(text) == seconds


def test_a_retry_after_date() -> None:
    import time

    assert 50 < parse_retry_after(formatdate(time.time() + 60, usegmt=True)) <= 61
    assert parse_retry_after(formatdate(time.time() - 60, usegmt=True)) == 0


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(Breaker(failures=2, pause_s=10.0), clock)


def open_breaker(breaker: CircuitBreaker) -> None:
    for _ in range(2):
        assert breaker.allow_request()
        breaker.record_failure()


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    breaker.record_failure()
    breaker.record_success()
    breaker.record_failure()
    assert breaker.state == "closed"
    breaker.record_failure()
    assert breaker.state == "open"
    assert not breaker.allow_request()
    assert breaker.seconds_left == 10.0


def test_after_the_pause_one_probe_passes(breaker: CircuitBreaker, clock: Clock) -> None:
    open_breaker(breaker)
    clock.now = 9.9
    assert not breaker.allow_request()
    clock.now = 10.0
    assert breaker.state == "half-open"
    assert breaker.allow_request()
    assert not breaker.allow_request()  # one probe at a time
    breaker.record_success()
    assert breaker.state == "closed"
    assert breaker.allow_request()


def test_a_probe_that_fails_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    open_breaker(breaker)
    clock.now = 10.0
    assert breaker.allow_request()
    breaker.record_failure()
    assert breaker.state == "open"
    clock.now = 20.0
    assert breaker.state == "half-open"


def test_a_probe_that_is_cancelled_leaves_the_way_free(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    open_breaker(breaker)
    clock.now = 10.0
    assert breaker.allow_request()
    breaker.forget_request()
    assert breaker.allow_request()
