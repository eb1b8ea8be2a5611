"""An HTTP server of a test's own on loopback, which ends at once when its block does."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

START_S = 600  # the machine may have much else to do
POLL_S = 0.01  # how often it looks whether to end; http.server does so twice a second


@dataclass(frozen=True)
class Request:
    """What came; names of headers are in lower case."""

    method: str
    path: str  # with the query
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What is sent; a header Content-Length says more or less than there is, if it is given."""

    content: bytes | Iterator[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serve_answers(answer: Callable[[Request], Answer | None]) -> Iterator[str]:
    """Answer requests while the block runs, each in a thread; give the server's address.

    None ends the connection without an answer.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = answer(Request(self.command, self.path, headers, body))
            if given is not None:
                with suppress(ConnectionError):
                    self.send(given)

        def send(self, given: Answer) -> None:
            content, known = given.content, {}
            if isinstance(content, bytes):
                content, known = iter([content]), {"Content-Length": str(len(content))}
            self.send_response_only(given.status)
            for name, value in ({"Connection": "close"} | known | given.headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.writelines(content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = handle_request  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(POLL_S,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def serve_folder(folder: Path) -> AbstractContextManager[str]:
    """Give the address of a server of files, with their time of change, which ends with the block.

    `/to/...` redirects; HEAD is refused.
    """

    def answer(request: Request) -> Answer:
        if request.method == "HEAD":
            return Answer(status=403)
        if request.path.startswith("/to/"):
            return Answer(status=302, headers={"Location": request.path.removeprefix("/to")})
        path = folder / unquote(urlsplit(request.path).path).removeprefix("/")
        if not path.is_file():
            return Answer(status=404)
        changed = formatdate(path.stat().st_mtime, usegmt=True)
        return Answer(path.read_bytes(), headers={"Last-Modified": changed})

    return serve_answers(answer)


def find_free_port() -> int:
    """Find a port on which nobody listens now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until(is_true: Callable[[], object], what: str) -> None:
    """Ask again until it is so; an error of the network is a no."""
    until = time.monotonic() + START_S
    while True:
        try:
            if is_true():
                return
        except (OSError, ValueError):
            pass
        assert time.monotonic() < until, f"after {START_S} s not yet: {what}"
        time.sleep(0.2)


def wait_for_server(address: str) -> None:
    """Return when a server answers at `address`."""

    def is_answered() -> bool:
        with urlopen(address, timeout=5):  # noqa: S310  loopback
            return True

    wait_until(is_answered, address)
