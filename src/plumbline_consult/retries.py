"""When a request is sent again: exponential backoff with full jitter, or when the server says.

Full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from plumbline_consult.replies import AgentError, Sleep

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0
MAX_RETRY_AFTER_S = 86_400.0
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
    """Read a Retry-After header, seconds or an HTTP date; 0 where it is absent or not valid."""
    text = text.strip()
    if text.isdecimal() and text.isascii():
        return min(float(text[:10]), MAX_RETRY_AFTER_S)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
