"""Who may ask: host, origin and token of a request, by its headers alone."""

import hmac

from starlette.datastructures import Headers

from plumbline.serving.errors import RequestError
from plumbline.serving.health import is_health_path
from plumbline.serving.settings import Settings

ORIGIN_SCHEMES = ("http", "https")


class AccessRules:
    """What the settings of a server allow."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
        self._hosts: set[str] = set()
        for host in _list_hosts(settings):
            self._hosts |= {host.lower(), f"{host.lower()}:{settings.port}"}

    def check(self, path: str, headers: Headers) -> None:
        """Raise RequestError for a request that may not be answered.

        Health routes are answered under any name: a pod is called by its address.
        """
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy before this server may take the other one: where the request ends is unclear.
            raise RequestError(
                400, "TWO_LENGTHS", "send Content-Length or Transfer-Encoding, not both"
            )
        is_health = is_health_path(path)
        if not is_health and headers.get("host", "").lower() not in self._hosts:
            raise RequestError(
                421,
                "WRONG_HOST",
                "unknown Host header; allow the name with --allowed-host",
            )
        self._check_origin(headers.get("origin"))
        if not is_health and path != "/":
            self._check_token(headers.get("authorization", ""))
        if "content-encoding" in headers:
            raise RequestError(
                415, "UNSUPPORTED_ENCODING", "compressed bodies are not supported; send it as it is"
            )

    def _check_origin(self, origin: str | None) -> None:
        if origin is None:
            return
        scheme, _, host = origin.lower().partition("://")
        if scheme not in ORIGIN_SCHEMES or host not in self._hosts:
            raise RequestError(403, "WRONG_ORIGIN", "cross-origin requests are not allowed")

    def _check_token(self, header: str) -> None:
        if self._token is None:
            return
        kind, _, token = header.partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self._token.encode())
        if kind.lower() != "bearer" or not is_right:
            raise RequestError(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")


def _list_hosts(settings: Settings) -> list[str]:
    """List the names by which requests may call this server."""
    named = [] if settings.host in ("0.0.0.0", "::") else [settings.host]  # noqa: S104  not listened on
    return ["127.0.0.1", "localhost", "[::1]", *named, *settings.allowed_host]
