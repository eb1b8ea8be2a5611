"""Who may ask: host, origin and token of a request, by its headers alone."""

import hmac
import re
from ipaddress import ip_address

from plumbline.serving.errors import RequestError
from plumbline.serving.health import is_health_path
from plumbline.serving.settings import Settings

SINGLE_HEADERS = (b"host", b"authorization", b"content-type", b"origin", b"transfer-encoding")
ORIGIN_SCHEMES = (b"http", b"https")
ADDRESS = re.compile(rb"(\[[0-9a-fA-F:.]{2,45}\]|[0-9.]{7,15})(:[0-9]{1,5})?")  # and a port


class AccessRules:
    """What the settings of a server allow."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token.encode() if settings.token else None
        port = str(settings.port).encode()
        self._hosts: set[bytes] = set()
        for host in _list_hosts(settings):
            name = host.encode().lower()
            self._hosts |= {name, name + b":" + port}

    def check(self, path: str, pairs: list[tuple[bytes, bytes]]) -> None:
        """Raise RequestError for a request that may not be answered."""
        headers = _index_headers(pairs)
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy before this server may take the other one: where the request ends is unclear.
            raise RequestError(
                400, "TWO_LENGTHS", "send Content-Length or Transfer-Encoding, not both"
            )
        is_health = is_health_path(path)
        if not is_health or not _has_address_as_host(headers):
            self._check_host(headers)
        self._check_origin(headers)
        if not is_health and path != "/":
            self._check_token(headers.get(b"authorization", b""))
        transfer_encoding = headers.get(b"transfer-encoding", b"chunked").lower()
        if b"content-encoding" in headers or transfer_encoding != b"chunked":
            raise RequestError(
                415, "UNSUPPORTED_ENCODING", "compressed bodies are not supported; send it as it is"
            )

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if headers.get(b"host", b"").lower() not in self._hosts:
            raise RequestError(
                421,
                "WRONG_HOST",
                "unknown Host header; allow the name with --allowed-host",
            )

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        origin = headers.get(b"origin")
        if origin is None:
            return
        scheme, _, host = origin.lower().partition(b"://")
        if scheme not in ORIGIN_SCHEMES or host not in self._hosts:
            raise RequestError(403, "WRONG_ORIGIN", "cross-origin requests are not allowed")

    def _check_token(self, header: bytes) -> None:
        if self._token is None:
            return
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise RequestError(401, "UNAUTHORIZED", "send the token: Authorization: Bearer ...")


def _list_hosts(settings: Settings) -> list[str]:
    """List the names by which requests may call this server."""
    named = [] if settings.host in ("0.0.0.0", "::") else [settings.host]  # noqa: S104  not listened on
    return ["127.0.0.1", "localhost", "[::1]", *named, *settings.allowed_host]


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
