"""A circuit breaker: an agent that keeps failing is left alone, then tried with one request.

States as in Nygard, Release It! (2007): closed, open, half-open.
"""

import time
from collections.abc import Callable
from typing import Literal

from plumbline_consult.agents import Breaker

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Counts failures in a row; used by the tasks of one event loop."""

    def __init__(self, limits: Breaker, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._failures = 0
        self._opened_at = 0.0
        self._is_probing = False

    @property
    def state(self) -> State:
        """closed: requests pass; open: none does; half-open: one may pass, as a probe."""
        if self._failures < self._limits.failures:
            return "closed"
        is_over = self._clock() - self._opened_at >= self._limits.pause_s
        return "half-open" if is_over else "open"

    @property
    def seconds_left(self) -> float:
        """Seconds until the next request may pass; 0 unless it is open."""
        if self.state != "open":
            return 0.0
        return self._limits.pause_s - (self._clock() - self._opened_at)

    def allow_request(self) -> bool:
        """Whether a request may pass now; the caller reports its outcome afterwards."""
        if self.state == "half-open" and not self._is_probing:
            self._is_probing = True
            return True
        return self.state == "closed"

    def record_success(self) -> None:
        """Close: the agent answered."""
        self._failures = 0
        self._is_probing = False

    def record_failure(self) -> None:
        """Count a failure; open at the limit, and again when a probe failed."""
        self._failures += 1
        self._opened_at = self._clock()
        self._is_probing = False

    def forget_request(self) -> None:
        """A request was cancelled: it says nothing about the agent."""
        self._is_probing = False
