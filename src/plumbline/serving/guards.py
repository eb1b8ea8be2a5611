"""Checks that every request passes before its body is read: host, origin, token, queue."""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any

from plumbline.serving import metrics
from plumbline.serving.errors import OverloadedError, RequestError
from plumbline.serving.health import is_health_path
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

REQUEST_ID = "plumbline.request_id"  # key in the ASGI scope
SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
SINGLE_HEADERS = (b"host", b"authorization", b"content-type", b"origin")
ADDRESS = re.compile(rb"(\[[0-9a-fA-F:.]{2,45}\]|[0-9.]{7,15})(:[0-9]{1,5})?")  # and a port
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

        request_id = _choose_request_id(scope["headers"])
        scope[REQUEST_ID] = request_id.decode()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                own_headers = [*EXTRA_HEADERS, (b"x-request-id", request_id)]
                message["headers"] = [*message.get("headers", []), *own_headers]
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
        is_health = is_health_path(scope["path"])
        if not is_health or not _has_address_as_host(headers):
            self._check_host(headers)
        self._check_origin(headers)
        if not is_health and scope["path"] != "/":
            self._check_token(headers.get(b"authorization", b""))
        transfer_encoding = headers.get(b"transfer-encoding", b"chunked").lower()
        if b"content-encoding" in headers or transfer_encoding != b"chunked":
            raise RequestError(
                415, "UNSUPPORTED_ENCODING", "compressed bodies are not supported; send it as it is"
            )
        if scope["method"] == "POST" and self._router.is_full:
            raise OverloadedError(self._router.retry_after_s)

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise RequestError(
                421,
                "WRONG_HOST",
                "unknown Host header; allow the name with --allowed-host",
            )

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2].lower() not in self._hosts:
            raise RequestError(403, "WRONG_ORIGIN", "cross-origin requests are not allowed")

    def _check_token(self, header: bytes) -> None:
        if self._token is None:
            return
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise RequestError(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")


def _choose_request_id(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """Take the X-Request-Id that the client or a proxy sent, if it is short and plain, or a new."""
    for name, value in pairs:
        if name == b"x-request-id" and SANE_ID.fullmatch(value):
            return value
    return secrets.token_hex(16).encode()


def _has_address_as_host(headers: dict[bytes, bytes]) -> bool:
    """Whether Host is an IP address; a page that has its name resolve to another has a name."""
    match = ADDRESS.fullmatch(headers.get(b"host", b""))
    if match is None:
        return False
    try:
        ip_address(match[1].strip(b"[]").decode())
    except ValueError:
        return False
    return True


def _index_headers(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name in headers and name in SINGLE_HEADERS:
            raise RequestError(400, "BAD_REQUEST", f"duplicate header: {name.decode()}")
        headers[name] = value
    return headers
