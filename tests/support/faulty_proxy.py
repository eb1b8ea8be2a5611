"""A server between a client and a store of objects that fails at the k-th request."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.support.loopback import run_server

# "busy": 503 in place of asking the store. "lost": the store did it, and its answer is cut off.
# "changed": a bit of what is sent, or else of what is answered, is another one.
Fault = Literal["busy", "lost", "changed"]
OWN_HEADERS = ("connection", "transfer-encoding", "content-length")
BUSY = b"<Error><Code>ServiceUnavailable</Code><Message>try again</Message></Error>"


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on to the store at `address`; counts them, and fails at one of them."""

    daemon_threads = True

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = address.removeprefix("http://")
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.fault: Fault = "busy"
        self._number = self._num_seen = 0
        self._lock = threading.Lock()

    def fail_at(self, number: int, fault: Fault) -> None:
        """Fail at the `number`-th request from now on; at none, if it is 0."""
        self._number, self._num_seen, self.fault = number, 0, fault

    @property
    def is_met(self) -> bool:
        return self._num_seen >= self._number

    def take_fault(self) -> Fault | None:
        """Count a request; return the fault that it meets."""
        with self._lock:
            self._num_seen += 1
            return self.fault if self._num_seen == self._number else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = self.server.take_fault()
        if fault == "busy":
            self._answer(503, [], BUSY)
            return
        if fault == "changed":
            body = _flip(body)
        connection = http.client.HTTPConnection(self.server.store, timeout=30)
        connection.request(self.command, self.path, body, dict(self.headers))
        given = connection.getresponse()
        content = given.read()
        connection.close()
        if fault == "lost":
            self.close_connection = True
            return
        if fault == "changed" and not body:
            content = _flip(content)
        self._answer(given.status, given.getheaders(), content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() not in OWN_HEADERS:
                self.send_header(name, value)
            elif name.lower() == "content-length":
                length = value  # of HEAD: what GET would give
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *details: object) -> None:
        """Say nothing of each request."""

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815  names of http.server


def _flip(content: bytes) -> bytes:
    """Return the bytes with one bit in their middle changed."""
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(byte ^ 1 for byte in content[middle : middle + 1])
        + content[middle + 1 :]
    )


@contextmanager
def run_proxy(address: str) -> Iterator[FaultyProxy]:
    """Run a proxy before the store at `address` while the block runs."""
    proxy = FaultyProxy(address)
    with run_server(proxy):
        yield proxy
