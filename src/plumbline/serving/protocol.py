"""HTTP/1.1 on a socket, from uvicorn, with limits on how slowly and how widely a client may connect."""

import asyncio
import re
import resource
from asyncio.events import TimerHandle
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from plumbline.serving import metrics
from plumbline.serving.refusals import Refusal, bad
from plumbline.serving.settings import Limits

GONE = "plumbline.gone"
LINGER_S = 2.0  # for requests that are on their way when the server ends
MAX_HEAD = 65_536  # bytes of headers, or of trailers; what one read of the socket brings is taken before it is counted
UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
SPARE_FILES = 64  # of those that a process may open, not for connections


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, which also ends connections past the limit, those that stall, and heads without an end."""

    stalled: TimerHandle | None = None  # ends the connection if the rest of a request does not come
    unread: TimerHandle | None = None  # ends it if its answers are not read
    heard = 0.0  # when something came last
    num_unused = 0  # bytes since the last that were of use
    in_head = False
    ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; where there are too many, the one that has been idle longest goes."""
        super().connection_made(transport)
        self.heard = self.loop.time()
        self._arm()
        there = [other for other in self.connections if not other.transport.is_closing()]
        if len(there) > min(
            self._limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES
        ):
            idle = [other for other in there if isinstance(other, Protocol) and other._is_idle]
            min(idle, key=lambda other: other.heard).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._disarm()
        if self.unread:
            self.unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless what comes is no end of headers, and not for long if it is no request."""
        self.heard = self.loop.time()
        self.num_unused += len(data)
        super().data_received(_not_upgrading(data) if self._is_idle else data)
        if self.transport.is_closing():
            return
        if self.num_unused > MAX_HEAD:
            self._end(Refusal(431, "HEADERS_TOO_LARGE", f"at most {MAX_HEAD} bytes of headers"))
        elif self._is_idle and self.stalled is None and self.timeout_keep_alive_task is None:
            self._arm()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP as all else is refused."""
        self._end(bad("this is not HTTP/1.1 as RFC 9112 has it"))

    def pause_writing(self) -> None:
        """The client does not read; it has as long as headers may take."""
        super().pause_writing()
        self.unread = self.loop.call_later(self._limits.header_s, self.transport.abort)

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        if self.unread:
            self.unread.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing came for long; answers that nobody has read by now are lost with the connection."""
        self.transport.abort()

    def on_message_begin(self) -> None:
        """Headers must be complete soon."""
        super().on_message_begin()
        self.in_head = True
        if self.stalled is None:
            self._arm()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Headers that follow a body would come after they were checked: they are left out."""
        if self.in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Part of a body."""
        self.num_unused = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """They are; say how the request can see whether its client is still there."""
        self._disarm()
        self.in_head, self.num_unused = False, 0
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
            self.loop.call_later(min(LINGER_S, self._limits.drain_s / 2), self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._is_idle:
            self.transport.close()

    def _end(self, refusal: Refusal) -> None:
        """Refuse what comes, after the answer to a whole request that came before it."""
        if not self._is_idle and not self.cycle.more_body:
            self.cycle.keep_alive = False
            return
        metrics.REQUESTS.labels("?", refusal.status).inc()
        head = [
            STATUS_LINE[refusal.status],
            *(name + b": " + value + b"\r\n" for name, value in refusal.headers),
        ]
        self.transport.write(b"".join([*head, b"connection: close\r\n\r\n", refusal.body]))
        self.transport.close()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

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


def _not_upgrading(data: bytes) -> bytes:
    """The start of a request without the wish for another protocol, which may be passed over.

    Java's HTTP client wishes for HTTP/2 in every request, and the parser reads no body after that wish.
    """
    head, end, body = data.partition(b"\r\n\r\n")
    return UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body
