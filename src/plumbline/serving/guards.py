"""Checks that every request passes before its body is read: host, origin, token, queue."""

import hmac
import re
import secrets

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plumbline.serving import metrics
from plumbline.serving.errors import OverloadedError, RequestError
from plumbline.serving.health import is_health_path
from plumbline.serving.responses import make_error_response
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings

REQUEST_ID = "plumbline.request_id"  # key in the ASGI scope
SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
EXTRA_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class AccessRules:
    """Who may ask, by the settings of a server and the headers of a request alone."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        names = {"127.0.0.1", "localhost", "[::1]", *settings.allowed_host}
        if settings.host not in ("0.0.0.0", "::"):  # noqa: S104  not listened on
            names.add(settings.host)
        hosts = {name.lower() for name in names}
        self._hosts = hosts | {f"{host}:{settings.port}" for host in hosts}

    def check(self, path: str, headers: Headers) -> None:
        """Raise RequestError for a request that may not be answered.

        Health routes are answered under any name: a pod is called by its address.
        """
        is_health = is_health_path(path)
        if not is_health and headers.get("host", "").lower() not in self._hosts:
            raise RequestError(
                421, "WRONG_HOST", "unknown Host header; allow the name with --allowed-host"
            )
        scheme, _, host = headers.get("origin", "http://localhost").lower().partition("://")
        if scheme not in ("http", "https") or host not in self._hosts:
            raise RequestError(403, "WRONG_ORIGIN", "cross-origin requests are not allowed")
        if self._token and not is_health and path != "/":
            self._check_token(self._token, headers.get("authorization", ""))
        if "content-encoding" in headers:
            raise RequestError(
                415, "UNSUPPORTED_ENCODING", "compressed bodies are not supported; send it as it is"
            )

    def _check_token(self, token: str, header: str) -> None:
        kind, _, given = header.partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), token.encode())
        if kind.lower() != "bearer" or not is_right:
            raise RequestError(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")


class GuardMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, access: AccessRules, router: TrafficRouter) -> None:
        self._app = app
        self._access = access
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on; add the headers that every response carries."""
        if scope["type"] != "http":
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
                message["headers"] = [*message.get("headers", []), *own_headers]
                route = getattr(passed.get("route"), "path", "?")
                metrics.REQUESTS.labels(route, message["status"]).inc()
            await send(message)

        try:
            self._access.check(passed["path"], headers)
            if passed["method"] == "POST" and self._router.champion.is_full:
                raise OverloadedError
        except RequestError as error:
            await make_error_response(error, passed["path"])(passed, receive, send_counted)
        else:
            await self._app(passed, receive, send_counted)
