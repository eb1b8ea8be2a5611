"""uvicorn's HTTP/1.1 protocol with limits on slow clients, endless headers and many connections."""

import asyncio
import re
import resource
from asyncio.events import TimerHandle
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from plumbline.serving import metrics
from plumbline.serving.errors import BadRequestError, RequestError
from plumbline.serving.settings import Limits

if TYPE_CHECKING:  # the supervisor imports this module, and no web framework
    from plumbline.serving.early_refusal import EarlyRefusals

DISCONNECTED = "plumbline.client_disconnected"  # key in the ASGI scope
LINGER_S = 2.0  # for requests that arrive while the server shuts down
# Bytes of headers, or of trailers; counted after each read of the socket, so a read may exceed it.
MAX_HEAD = 65_536
UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
NO_UPGRADE = (
    "CONNECT is not supported, nor is the header Upgrade where it does not arrive with the first "
    "bytes of a request"
)
RESERVED_FILES = 64  # open files of the process that are not connections


class RefusedCycle:
    """In place of uvicorn's state of a request: it is answered, the rest of its body may follow."""

    response_complete = True
    more_body = True
    message_event = asyncio.Event()  # nobody waits for it


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which also closes stalled connections and those past the limit."""

    stall_timer: TimerHandle | None = None  # fires if the rest of a request does not arrive
    write_timer: TimerHandle | None = None  # fires if the client does not read its answers
    last_received = 0.0  # time of the last data
    num_unused = 0  # bytes since the last ones that belong to a request
    is_between = True  # requests: no byte of the next one was parsed
    in_head = False
    is_ending = False
    is_refusing_all = False  # that comes: where a request would begin is not known

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; if there are too many, close the one that is idle longest."""
        super().connection_made(transport)
        self.last_received = self.loop.time()
        self._start_stall_timer()
        open_ones = [other for other in self.connections if not other.transport.is_closing()]
        max_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES
        if len(open_ones) > min(self._limits.connections, max_files):
            protocols = [other for other in open_ones if isinstance(other, HttpProtocol)]
            idle = [other for other in protocols if other._is_idle]
            min(idle, key=lambda other: other.last_received).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._stop_stall_timer()
        if self.write_timer:
            self.write_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse headers without an end, and close what is not a request."""
        if self.is_refusing_all:
            return
        self.last_received = self.loop.time()
        self.num_unused += len(data)
        super().data_received(_ignore_upgrade(data) if self.is_between else data)
        if self.transport.is_closing():
            return
        if self.num_unused > MAX_HEAD:
            self._refuse(
                RequestError(
                    431, "HEADERS_TOO_LARGE", f"headers too large: at most {MAX_HEAD} bytes"
                )
            )
        elif self._is_idle and self.stall_timer is None and self.timeout_keep_alive_task is None:
            self._start_stall_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the same form as every other error."""
        self._refuse(BadRequestError("not a valid HTTP/1.1 request (RFC 9112)"))

    def pause_writing(self) -> None:
        """Start to wait for a client that does not read its answers."""
        super().pause_writing()
        self.write_timer = self.loop.call_later(self._limits.read_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting: the client reads again."""
        super().resume_writing()
        if self.write_timer:
            self.write_timer.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; answers that were not read by now are lost."""
        self.transport.abort()

    def on_message_begin(self) -> None:
        """Start the timer for the headers."""
        super().on_message_begin()
        self.is_between = False
        self.in_head = True
        if self.stall_timer is None:
            self._start_stall_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore trailers: they arrive after the headers were checked."""
        if self.in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Accept a part of a body."""
        self.num_unused = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Pass the request on, with a way to see whether its client is still connected.

        If the queue is full, it is refused here, and so is one after which another protocol would
        begin: the parser reads no body of it, and what follows could pass for a request.
        """
        self._stop_stall_timer()
        self.in_head = False
        self.num_unused = 0
        if self.parser.should_upgrade():
            self.is_refusing_all = True
            self._refuse(BadRequestError(NO_UPGRADE))
            return
        refusal = self._make_refusal()
        if refusal:
            self.cycle = RefusedCycle()  # type: ignore[assignment]
            self.transport.write(refusal)
            self.on_response_complete()
            return
        self.scope[DISCONNECTED] = self.transport.is_closing  # type: ignore[literal-required]
        super().on_headers_complete()
        if self.is_ending:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """If a body was refused before its end, read and drop the rest, for a limited time.

        A connection that is closed while its client still sends is reset, and the client never
        sees the answer.
        """
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._start_stall_timer()

    def on_message_complete(self) -> None:
        """Stop the timer: the request is complete."""
        self.is_between = True
        self._stop_stall_timer()
        super().on_message_complete()

    def shutdown(self) -> None:
        """Answer requests that are in progress or on their way, then close the connection."""
        self.app_state["router"].is_draining = True
        self.is_ending = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        else:
            linger_s = min(LINGER_S, self._limits.shutdown_timeout_s / 2)
            self.loop.call_later(linger_s, self._close_if_idle)

    def _make_refusal(self) -> bytes | None:
        """Return the answer to a plain POST while the queue is full, else None.

        Not while an earlier answer is due, and not where the connection ends after this one.
        """
        refusals: EarlyRefusals | None = self.app_state["refusals"]
        if refusals is None or not refusals.is_due or not self._is_idle or self.is_ending:
            return None
        parser = self.parser
        if parser.get_method() != b"POST" or parser.get_http_version() != "1.1":
            return None
        if not parser.should_keep_alive() or self.flow.write_paused:
            return None
        return refusals.make_answer(self.url, self.headers, self.server_state.default_headers)

    def _close_if_idle(self) -> None:
        if self._is_idle:
            self.transport.close()

    def _refuse(self, error: RequestError) -> None:
        """Refuse what was received, after the answer to a complete request before it."""
        if not self._is_idle and not self.cycle.more_body:
            self.cycle.keep_alive = False
            return
        metrics.REQUESTS.labels("?", error.status).inc()
        headers = [name + b": " + value + b"\r\n" for name, value in error.headers]
        head = b"".join([STATUS_LINE[error.status], *headers, b"connection: close\r\n\r\n"])
        self.transport.write(head + error.body)
        self.transport.close()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _limits(self) -> Limits:
        return cast(Limits, self.app_state["limits"])

    def _start_stall_timer(self) -> None:
        self._stop_stall_timer()
        self.stall_timer = self.loop.call_later(self._limits.read_timeout_s, self.transport.abort)

    def _stop_stall_timer(self) -> None:
        if self.stall_timer:
            self.stall_timer.cancel()
            self.stall_timer = None


def is_client_disconnected(scope: Any) -> bool:
    """Whether the client of a request has closed its connection."""
    is_closing = scope.get(DISCONNECTED)
    return bool(is_closing and is_closing())


def _ignore_upgrade(data: bytes) -> bytes:
    """Rename the Upgrade header of a request that begins with `data`; a server may ignore it.

    Java's HTTP client asks for HTTP/2 in every request, and the parser reads no body after that.
    Bytes of a body are never changed: their number is in the head.
    """
    head, end, body = data.partition(b"\r\n\r\n")
    return UPGRADE.sub(b"\r\nx-upgrade:", head) + end + body
