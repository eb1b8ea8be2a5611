"""When a request is sent again: exponential backoff with full jitter, or when the server says.

Full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from plumbline_consult.replies import AgentError

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0
Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


async def try_repeatedly(
    attempt: Callable[[], Awaitable[T]],
    attempts: int,
    num_seconds_left: Callable[[], float],
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Call `attempt` until it succeeds, at most `attempts` times.

    Raises its last AgentError; at once if that cannot be repaired by asking again, or if the wait
    would end after the deadline.
    """
    for number in range(1, attempts + 1):
        try:
            return await attempt()
        except AgentError as error:
            wait = choose_wait(number, error.retry_after_s)
            if not error.may_retry or number == attempts or wait >= num_seconds_left():
                raise
        await sleep(wait)
    raise AssertionError("attempts is at least 1")


def choose_wait(number: int, retry_after_s: float) -> float:
    """Seconds to wait after failure `number` (from 1); never less than the server asked for."""
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (number - 1))
    return retry_after_s + random.uniform(0, longest)  # noqa: S311  spreads load, no secret


def parse_retry_after(text: str) -> float:
    """Read the seconds of a Retry-After header; 0 where it is absent or not a number."""
    return float(text[:10]) if text.isascii() and text.isdecimal() else 0.0
