"""A file at an http(s) address: downloaded once, and used only if its digest is pinned."""

import hashlib
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError
from plumbline.process.files import digest_path, write_aside

if TYPE_CHECKING:
    from httpx2 import Response

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


def build_tls_context() -> ssl.SSLContext:
    """Read the certificates that servers are checked by; ParamsError where there are none."""
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise ParamsError(
            f"SSL_CERT_FILE: {os.environ.get('SSL_CERT_FILE')}: no certificates can be read "
            f"({error.strerror}); name a file that has them in PEM format, or unset the variable"
        ) from None


def _download(url: str, shown: str, path: Path) -> str:
    """Stream `url` into `path`, again where a connection ended, and return its SHA-256."""
    for pause in PAUSES_S:
        try:
            return _download_once(url, shown, path)
        except InterruptedDownloadError:
            time.sleep(pause)
    return _download_once(url, shown, path)


def _download_once(url: str, shown: str, path: Path) -> str:
    digest = hashlib.sha256()
    with _open(url, shown, STALL_SECONDS, {}) as response, path.open("wb") as file:
        for block in response.iter_raw(BLOCK_BYTES):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


@contextmanager
def _open(url: str, shown: str, seconds: float, headers: dict[str, str]) -> "Iterator[Response]":
    """Give the response, whose bytes are as they are stored.

    Raises DataError where there is none, or the connection ends inside the block, and ParamsError
    for what cannot be an address.
    """
    import httpx2

    asked = {"Accept-Encoding": "identity"} | headers
    tls = build_tls_context()
    try:
        with httpx2.stream(
            "GET", url, headers=asked, timeout=seconds, follow_redirects=True, verify=tls
        ) as response:
            response.raise_for_status()
            yield response
    except httpx2.HTTPStatusError as error:
        answer = error.response
        kind = InterruptedDownloadError if answer.status_code in BUSY else DataError
        reason = f"the server answered {answer.status_code} {answer.reason_phrase}"
        raise kind(f"{shown}: {reason}") from None
    except httpx2.TransportError as error:
        kind = DataError if _is_unknown_host(error) else InterruptedDownloadError
        raise kind(f"{shown}: cannot be fetched ({error})") from None
    except httpx2.HTTPError as error:  # such as redirects without end
        raise DataError(f"{shown}: cannot be fetched ({error})") from None
    except (httpx2.InvalidURL, UnicodeError):  # its text may hold a part of a password
        raise ParamsError(
            f"{shown}: not a valid address; expected one like https://HOST/PATH"
        ) from None
    except (ImportError, ValueError) as error:  # of a proxy with a scheme that is not supported
        reason = f"{error}; unset ALL_PROXY, or name an http:// proxy there"
        raise DataError(f"{shown}: cannot be fetched ({reason})") from None


def _is_unknown_host(error: BaseException | None) -> bool:
    """Whether no name server knows the host: another attempt cannot succeed."""
    if isinstance(error, socket.gaierror):
        return error.errno != socket.EAI_AGAIN
    return error is not None and _is_unknown_host(error.__context__)
