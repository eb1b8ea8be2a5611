"""A server between a client and a store of objects, or MLflow, that fails at chosen requests."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.support.loopback import run_server

# "busy": 503 in place of asking the store; "broken": 500; "limited": 429, ask again in an hour.
# "lost": the store did it, and its answer is cut off.
# "changed": a bit of what is sent, or else of what is answered, is another one.
# "silent": nobody answers, until the block of the proxy ends.
Fault = Literal["busy", "broken", "limited", "lost", "changed", "silent"]
STATUSES = {"busy": 503, "broken": 500, "limited": 429}
RETRY_AFTER = ("Retry-After", "3600")
OWN_HEADERS = ("connection", "transfer-encoding", "content-length")
BUSY = b"<Error><Code>ServiceUnavailable</Code><Message>try again</Message></Error>"


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on to the store at `address`; counts them, and fails at chosen ones."""

    daemon_threads = True

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = address.removeprefix("http://")
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.fault: Fault = "busy"
        self._number = self._num_seen = 0
        self._among, self._lasts = "", False
        self._lock = threading.Lock()
        self.is_over = threading.Event()

    def fail_at(self, number: int, fault: Fault, among: str = "", *, lasts: bool = False) -> None:
        """Fail at the `number`-th request from now on; at none, if it is 0.

        Requests count whose method and path contain `among`. A fault that `lasts` is met by all of
        them from there on.
        """
        self._number, self._num_seen, self.fault = number, 0, fault
        self._among, self._lasts = among, lasts

    @property
    def is_met(self) -> bool:
        return self._num_seen >= self._number

    def take_fault(self, request: str) -> Fault | None:
        """Count a request; return the fault that it meets."""
        with self._lock:
            if self._among not in request:
                return None
            self._num_seen += 1
            is_chosen = self._num_seen == self._number
            if self._lasts and self._number:
                is_chosen = self.is_met
            return self.fault if is_chosen else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = self.server.take_fault(f"{self.command} {self.path}")
        if fault in STATUSES:
            self._answer(STATUSES[fault], [RETRY_AFTER] if fault == "limited" else [], BUSY)
            return
        if fault == "silent":
            self.server.is_over.wait()
            self.close_connection = True
            return
        if fault == "changed":
            body = _flip(body)
        connection = http.client.HTTPConnection(self.server.store, timeout=600)
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

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _pass_on  # noqa: N815  of http.server


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
        try:
            yield proxy
        finally:
            proxy.is_over.set()
