"""What every request must pass before anything is read of it: host, origin, token, room in the queue."""

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from plumbline.serving import metrics
from plumbline.serving.fleet import Fleet
from plumbline.serving.refusals import Refusal, overloaded
from plumbline.serving.settings import Settings

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/", "/ping", "/health", "/v2/health/live", "/v2/health/ready")  # answered without a token
NO_STORE = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Guards:
    """ASGI middleware around the whole application."""

    def __init__(self, app: App, settings: Settings, fleet: Fleet) -> None:
        self._app, self._fleet = app, fleet
        self._token = settings.token.encode() if settings.token else None
        port = str(settings.port).encode()
        self._hosts = {
            host.encode().lower() + end for host in settings.hosts for end in (b"", b":" + port)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the headers that every answer carries."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route = "?"

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *NO_STORE]
                metrics.REQUESTS.labels(
                    getattr(scope.get("route"), "path", route), message["status"]
                ).inc()
            await send(message)

        try:
            self._check(scope)
        except Refusal as refusal:
            await sent(
                {
                    "type": "http.response.start",
                    "status": refusal.status,
                    "headers": refusal.headers,
                }
            )
            await sent({"type": "http.response.body", "body": refusal.body})
            return
        await self._app(scope, receive, sent)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"authorization", b"content-type", b"origin"):
                raise Refusal(400, "BAD_REQUEST", f"the header {name.decode()} came twice")
            headers[name] = value
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise Refusal(
                421, "WRONG_HOST", "this server does not answer under that name; see --allowed-host"
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2].lower() not in self._hosts:
            raise Refusal(403, "WRONG_ORIGIN", "requests from other sites are refused")
        if scope["path"] not in OPEN:
            self._authorize(headers.get(b"authorization", b""))
        if (
            b"content-encoding" in headers
            or headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked"
        ):
            raise Refusal(415, "UNSUPPORTED_ENCODING", "send the body as it is, not compressed")
        if scope["method"] == "POST" and self._fleet.full:
            raise overloaded()

    def _authorize(self, header: bytes) -> None:
        kind, _, token = header.partition(b" ")
        if self._token is None:
            return
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise Refusal(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")
