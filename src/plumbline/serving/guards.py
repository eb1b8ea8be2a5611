"""Checks that every request passes before its body is read: host, origin, token, queue."""

import re
import secrets
import signal
from types import FrameType

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plumbline.serving import metrics
from plumbline.serving.access import AccessRules
from plumbline.serving.errors import OverloadedError, RequestError
from plumbline.serving.responses import make_error_response
from plumbline.serving.router import TrafficRouter

REQUEST_ID = "plumbline.request_id"  # key in the ASGI scope
SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
EXTRA_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class GuardMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, access: AccessRules, router: TrafficRouter) -> None:
        self._app = app
        self._access = access
        self._router = router
        self._ends = False

    def _note_end(self) -> None:
        """Remember that the server ends, whoever else handles the signal."""
        handle = signal.getsignal(signal.SIGTERM)

        def end(number: int, frame: FrameType | None) -> None:
            self._ends = True
            if callable(handle):
                handle(number, frame)

        signal.signal(signal.SIGTERM, end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on; add the headers that every response carries."""
        if scope["type"] != "http":
            self._note_end()  # uvicorn has set its handler, and starts the application
            await self._app(scope, receive, send)
            return

        headers = Headers(scope=scope)
        request_id = headers.get("x-request-id", "")
        if not SANE_ID.fullmatch(request_id):
            request_id = secrets.token_hex(16)
        # HEAD is answered wherever GET is; uvicorn leaves the body out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        passed = dict(scope) | {REQUEST_ID: request_id, "method": method}

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                own_headers = [*EXTRA_HEADERS, (b"x-request-id", request_id.encode())]
                if self._ends:  # h11 closes the connection, and does not announce it
                    own_headers.append((b"connection", b"close"))
                message["headers"] = [*message.get("headers", []), *own_headers]
                route = getattr(passed.get("route"), "path", "?")
                metrics.REQUESTS.labels(route, message["status"]).inc()
            await send(message)

        try:
            self._access.check(passed["path"], headers)
            if passed["method"] == "POST" and self._router.is_full:
                raise OverloadedError
        except RequestError as error:
            await make_error_response(error)(passed, receive, send_counted)
        else:
            await self._app(passed, receive, send_counted)
