"""HTTP/1.1 on a socket, from uvicorn, with limits on how slowly and how widely a client may connect."""

import asyncio
from asyncio.events import TimerHandle
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from plumbline.serving.settings import Limits

GONE = "plumbline.gone"
LINGER_S = 0.5  # for requests that are on their way when the server ends


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, which also ends connections past the limit and those that do not finish their headers."""

    stalled: TimerHandle | None = None
    ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or close it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._disarm()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Headers must be complete soon."""
        super().on_message_begin()
        if self.stalled is None:
            self._arm()

    def on_headers_complete(self) -> None:
        """They are; say how the request can see whether its client is still there."""
        self._disarm()
        self.scope[GONE] = self.transport.is_closing  # type: ignore[literal-required]
        super().on_headers_complete()
        if self.ending:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Where a body is refused before its end, the rest is read and thrown away, for as long as headers may take.

        A connection that is closed while its client still sends is reset, and the client never sees the answer.
        """
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._arm()

    def on_message_complete(self) -> None:
        """Nothing of the request is missing."""
        self._disarm()
        super().on_message_complete()

    def shutdown(self) -> None:
        """The server ends: what is under way, or on its way, is answered, and the connection closed after it."""
        self.app_state["fleet"].draining = True
        self.ending = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(LINGER_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    @property
    def _limits(self) -> Limits:
        return cast(Limits, self.app_state["limits"])

    def _arm(self) -> None:
        self._disarm()
        self.stalled = self.loop.call_later(self._limits.header_s, self.transport.abort)

    def _disarm(self) -> None:
        if self.stalled:
            self.stalled.cancel()
            self.stalled = None


def gone(scope: Any) -> bool:
    """Whether the client of a request has left."""
    check = scope.get(GONE)
    return bool(check and check())
