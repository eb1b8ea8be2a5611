"""Checks that every request passes before its body is read: host, origin, token, queue."""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from plumbline.serving import metrics
from plumbline.serving.errors import OverloadedError, RequestError
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Routes that are answered without a token.
PUBLIC = ("/", "/ping", "/health", "/v2/health/live", "/v2/health/ready")
SINGLE_HEADERS = (b"host", b"authorization", b"content-type", b"origin")
EXTRA_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class GuardMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(self, app: App, settings: Settings, router: TrafficRouter) -> None:
        self._app = app
        self._router = router
        self._token = settings.token.encode() if settings.token else None
        port = str(settings.port).encode()
        self._hosts: set[bytes] = set()
        for host in settings.hosts:
            name = host.encode().lower()
            self._hosts |= {name, name + b":" + port}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on; add the headers that every response carries."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *EXTRA_HEADERS]
                route = getattr(scope.get("route"), "path", "?")
                metrics.REQUESTS.labels(route, message["status"]).inc()
            await send(message)

        try:
            self._check_request(scope)
        except RequestError as error:
            start = {"status": error.status, "headers": error.headers}
            await send_counted({"type": "http.response.start"} | start)
            await send_counted({"type": "http.response.body", "body": error.body})
            return
        await self._app(scope, receive, send_counted)

    def _check_request(self, scope: Scope) -> None:
        headers = _index_headers(scope["headers"])
        self._check_host(headers)
        if scope["path"] not in PUBLIC:
            self._check_token(headers.get(b"authorization", b""))
        transfer_encoding = headers.get(b"transfer-encoding", b"chunked").lower()
        if b"content-encoding" in headers or transfer_encoding != b"chunked":
            raise RequestError(
                415, "UNSUPPORTED_ENCODING", "compressed bodies are not supported; send it as it is"
            )
        if scope["method"] == "POST" and self._router.is_full:
            raise OverloadedError

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise RequestError(
                421,
                "WRONG_HOST",
                "unknown Host header; allow the name with --allowed-host",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2].lower() not in self._hosts:
            raise RequestError(403, "WRONG_ORIGIN", "cross-origin requests are not allowed")

    def _check_token(self, header: bytes) -> None:
        if self._token is None:
            return
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise RequestError(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")


def _index_headers(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name in headers and name in SINGLE_HEADERS:
            raise RequestError(400, "BAD_REQUEST", f"duplicate header: {name.decode()}")
        headers[name] = value
    return headers
