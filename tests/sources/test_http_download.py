"""A download goes on where a connection ended, and begins again where the file has changed."""

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
    """Sends 3,000 bytes a connection, and names the file in `version`."""

    version = '"one"'
    asked: list[str | None]
    answers: list[int]  # that come before the file

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.answers:
            self.send_error(self.answers.pop(0))
            return
        start = 0
        self.asked.append(self.headers.get("Range"))
        if self.headers.get("If-Range") == self.version:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("ETag", self.version)
        self.send_header("Content-Length", str(len(FILE) - start))
        self.end_headers()
        self.wfile.write(FILE[start : start + 3000])


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(http_download, "PAUSES_S", (0, 0, 0))
    monkeypatch.setattr(CutHandler, "asked", [], raising=False)
    monkeypatch.setattr(CutHandler, "answers", [], raising=False)
    with run_server(ThreadingHTTPServer(("127.0.0.1", 0), CutHandler)) as url:
        yield f"{url}/rows.csv"


def test_it_goes_on_where_the_connection_ended(address: str) -> None:
    path = http_download.download_pinned(address, address, SHA256)
    assert path.read_bytes() == FILE
    assert CutHandler.asked == [None, "bytes=3000-", "bytes=6000-", "bytes=9000-"]


def test_it_waits_for_a_busy_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CutHandler.answers += [503, 429]
    with pytest.raises(DataError, match=r"ended after 6,000 of 10,240 bytes"):
        http_download.download_pinned(address, address, SHA256)
    assert len(CutHandler.asked) == 2


def test_it_asks_once_for_what_is_not_there(address: str) -> None:
    CutHandler.answers += [404, 404]
    with pytest.raises(DataError, match="the server answered 404"):
        http_download.download_pinned(address, address, SHA256)
    assert CutHandler.answers == [404]


def test_another_file_is_not_added_to_the_one_before(address: str) -> None:
    CutHandler.version = 'W/"one"'  # a weak name cannot say that the rest fits
    with pytest.raises(DataError, match=r"ended after 3,000 of 10,240 bytes"):
        http_download.download_pinned(address, address, SHA256)
    CutHandler.version = '"one"'
    assert CutHandler.asked == [None] * 4
