"""A file that lies at an http(s) address, fetched once, bounded, and used only if it is the one that was pinned."""

import hashlib
import http.client
import ipaddress
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError

MAX_BYTES = 50 * 2**30
MAX_SECONDS = 3600
STALL_SECONDS = 60
BLOCK = 2**20


def fetch(url: str, shown: str, sha256: str | None) -> Path:
    """The path of the file at `url`, downloaded unless it is here already; raises DataError if its digest is another.

    `shown` stands for the URL in messages. Raises ParamsError where no digest is pinned.
    """
    if sha256 is None:
        raise ParamsError(
            f"data.sha256: {shown} has no pinned digest, and what an address serves can change; "
            f"get it with `curl -sL URL | sha256sum` and add it under data.sha256"
        )
    kept = layout.DOWNLOADS / sha256
    if not (kept.is_file() and layout.digest(kept) == sha256):
        with layout.written(kept) as aside:
            found = _download(url, shown, aside)
            if found != sha256:
                raise DataError(
                    f"{shown}: has SHA-256 {found}, but data.sha256 pins {sha256}; "
                    "change the pin if the new file is meant"
                )
    return kept


def _download(url: str, shown: str, aside: Path) -> str:
    """Stream `url` into `aside` and return its SHA-256."""
    opener = urllib.request.build_opener(_Redirects(private=_is_private(url)))
    try:
        with opener.open(url, timeout=STALL_SECONDS) as response, aside.open("wb") as file:
            return _copy(response, file, shown)
    except urllib.error.HTTPError as error:
        raise DataError(f"{shown}: the server answered {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"{shown}: cannot be fetched ({getattr(error, 'reason', None) or error})"
        ) from None


def _copy(response: Any, file: IO[bytes], shown: str) -> str:
    total, size, end = hashlib.sha256(), 0, time.monotonic() + MAX_SECONDS
    expected = int(response.headers.get("Content-Length") or 0)
    while block := response.read(BLOCK):
        size += len(block)
        if size > MAX_BYTES or time.monotonic() > end:
            limit = f"{MAX_BYTES:,} bytes" if size > MAX_BYTES else f"{MAX_SECONDS} s"
            raise DataError(f"{shown}: stopped after {limit}; fetch it by hand and name the file")
        total.update(block)
        file.write(block)
    if size < expected:
        raise DataError(
            f"{shown}: the connection ended after {size:,} of {expected:,} bytes; run it again"
        )
    return total.hexdigest()


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects over http(s) alone, and none from a public host to an address inside this network."""

    def __init__(self, private: bool) -> None:
        self._private = private

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise DataError(
                f"{req.host}: redirects to {urlsplit(newurl).scheme}, which is not followed"
            )
        if not self._private and _is_private(newurl):
            raise DataError(
                f"{req.host}: redirects to {urlsplit(newurl).hostname}, a private address; not followed"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_private(url: str) -> bool:
    """Whether any address of the host is not a public one; an unknown host is for the request to report."""
    try:
        found = socket.getaddrinfo(urlsplit(url).hostname, None)
    except OSError:
        return False
    return any(
        not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_global
        for *_, address in found
    )
