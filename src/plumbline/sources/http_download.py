"""A file at an http(s) address: downloaded once, and used only if its digest is pinned."""

import hashlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError
from plumbline.process.files import digest_path, write_aside

STALL_SECONDS = 60
LOOKUP_SECONDS = 10
BLOCK_BYTES = 2**20
PAUSES_S = (1, 3, 9)  # before each further attempt
BUSY = (408, 429, 500, 502, 503, 504)  # answers after which another attempt may succeed


class InterruptedDownloadError(DataError):
    """The connection or the server failed in a way that may not happen again."""


def download_pinned(url: str, shown: str, sha256: str | None) -> Path:
    """Return the path of the file at `url`, downloaded unless it is on this machine already.

    `shown` is the URL as messages may show it. Raises ParamsError where no digest is pinned or the
    URL is not valid, and DataError where the file has another digest or cannot be downloaded.
    """
    if sha256 is None:
        raise ParamsError(
            f"data.sha256: {shown} has no pinned digest, and what an address serves can change; "
            "get it with `curl -sL URL | sha256sum` and add it under data.sha256"
        )
    cached = layout.DOWNLOADS / sha256
    if not (cached.is_file() and digest_path(cached) == sha256):
        with write_aside(cached) as partial:
            actual = _download(url, shown, partial)
            if actual != sha256:
                raise DataError(
                    f"{shown}: has SHA-256 {actual}, but data.sha256 pins {sha256}; "
                    "change the pin if the new file is the right one"
                )
    return cached


def read_validators(url: str, shown: str) -> dict[str, Any]:
    """Return the ETag, Last-Modified and size that the server gives for `url`, without the body.

    Raises DataError where it does not answer, and ParamsError where the URL is not valid.
    """
    # A GET of one byte: servers that refuse HEAD are many, and signed addresses allow GET alone.
    with _open(url, shown, LOOKUP_SECONDS, {"Range": "bytes=0-0"}) as response:
        headers = response.headers
    total = (headers.get("Content-Range") or "").rpartition("/")[2]
    validators = {
        "etag": headers.get("ETag"),
        "last_modified": headers.get("Last-Modified"),
        "size": total or headers.get("Content-Length"),
    }
    return {name: value for name, value in validators.items() if value is not None}


def forget_download(sha256: str | None) -> None:
    """Remove the file with this pinned digest, so that it is downloaded and compared again."""
    if sha256 is not None:
        (layout.DOWNLOADS / sha256).unlink(missing_ok=True)


def _download(url: str, shown: str, path: Path) -> str:
    """Stream `url` into `path`, again where a connection ended, and return its SHA-256."""
    for pause in PAUSES_S:
        try:
            return _download_once(url, shown, path)
        except InterruptedDownloadError:
            time.sleep(pause)
    return _download_once(url, shown, path)


def _download_once(url: str, shown: str, path: Path) -> str:
    digest, size = hashlib.sha256(), 0
    with _open(url, shown, STALL_SECONDS, {}) as response, path.open("wb") as file:
        with _name_errors(shown):
            expected = int(response.headers.get("Content-Length") or 0)
        while block := _read_block(response, shown):
            size += len(block)
            digest.update(block)
            file.write(block)
    if size < expected:
        raise InterruptedDownloadError(
            f"{shown}: the connection ended after {size:,} of {expected:,} bytes; run it again"
        )
    return digest.hexdigest()


@contextmanager
def _open(url: str, shown: str, seconds: float, headers: dict[str, str]) -> Iterator[Any]:
    """Give the response.

    Raises DataError where there is none, and ParamsError for what cannot be an address.
    """
    _check_host(url, shown)
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  http(s) only
    with _name_errors(shown):
        response = urllib.request.urlopen(request, timeout=seconds)  # noqa: S310
    with response:
        yield response


@contextmanager
def _name_errors(shown: str) -> Iterator[None]:
    """Turn errors of the server or the connection into DataErrors; a disk's are none of them."""
    try:
        yield
    except urllib.error.HTTPError as error:
        kind = InterruptedDownloadError if error.code in BUSY else DataError
        raise kind(f"{shown}: the server answered {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        kind = DataError if _is_lasting(reason) else InterruptedDownloadError
        raise kind(f"{shown}: cannot be fetched ({reason})") from None
    except ValueError as error:  # of a redirect
        raise DataError(f"{shown}: cannot be fetched ({error})") from None


def _is_lasting(reason: Any) -> bool:
    """Whether another try ends the same: no such host, or a certificate that is not valid."""
    if isinstance(reason, socket.gaierror):
        return reason.errno != socket.EAI_AGAIN
    return isinstance(reason, ssl.SSLCertVerificationError)


def _check_host(url: str, shown: str) -> None:
    try:
        (urlsplit(url).hostname or "").encode("idna")
    except ValueError:  # its text is not shown: a part of it may be a password
        raise ParamsError(
            f"data.source: {shown}: not a valid address; expected one like https://HOST/PATH"
        ) from None


def _read_block(response: Any, shown: str) -> bytes:
    with _name_errors(shown):
        return bytes(response.read(BLOCK_BYTES))
