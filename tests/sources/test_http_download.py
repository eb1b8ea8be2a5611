"""A download begins again where a connection ended, or the server is busy."""

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.loopback import run_server

from plumbline.contract.errors import DataError
from plumbline.sources import http_download

FILE = bytes(range(256)) * 40
SHA256 = hashlib.sha256(FILE).hexdigest()


class CutHandler(BaseHTTPRequestHandler):
    """Sends as many bytes as `sizes` says for each connection, then all."""

    sizes: list[int]
    answers: list[int]  # that come before the file

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.answers:
            self.send_error(self.answers.pop(0))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(FILE)))
        self.end_headers()
        self.wfile.write(FILE[: self.sizes.pop() if self.sizes else None])


@pytest.fixture
def address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(http_download, "PAUSES_S", (0, 0, 0))
    monkeypatch.setattr(CutHandler, "sizes", [], raising=False)
    monkeypatch.setattr(CutHandler, "answers", [], raising=False)
    with run_server(ThreadingHTTPServer(("127.0.0.1", 0), CutHandler)) as url:
        yield f"{url}/rows.csv"


def test_it_begins_again_where_the_connection_ended_or_the_server_is_busy(address: str) -> None:
    CutHandler.answers += [503, 429]
    CutHandler.sizes += [3000]
    path = http_download.download_pinned(address, address, SHA256)
    assert path.read_bytes() == FILE


def test_it_ends_where_the_connection_always_does(address: str) -> None:
    CutHandler.sizes += [3000] * 4
    with pytest.raises(DataError, match="received 3000 bytes"):
        http_download.download_pinned(address, address, SHA256)


def test_it_asks_once_for_what_is_not_there(address: str) -> None:
    CutHandler.answers += [404, 404]
    with pytest.raises(DataError, match="the server answered 404"):
        http_download.download_pinned(address, address, SHA256)
    assert CutHandler.answers == [404]


def test_a_proxy_that_cannot_be_used_is_named(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
    with pytest.raises(DataError, match=r"ALL_PROXY"):
        http_download.download_pinned(address, address, SHA256)
