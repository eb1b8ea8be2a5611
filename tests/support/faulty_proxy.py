"""A server between a client and a store of objects, or MLflow, that fails at chosen requests."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from tests.support.loopback import Answer, Request, serve_answers

# "busy": 503 in place of asking the store; "broken": 500; "limited": 429, ask again in an hour.
# "lost": the store did it, and its answer is cut off.
# "silent": nobody answers, until the block of the proxy ends.
Fault = Literal["busy", "broken", "limited", "lost", "silent"]
BUSY = b"<Error><Code>ServiceUnavailable</Code><Message>try again</Message></Error>"
INSTEAD: dict[str, Answer] = {
    "busy": Answer(BUSY, 503),
    "broken": Answer(BUSY, 500),
    "limited": Answer(BUSY, 429, {"Retry-After": "3600"}),
}


class FaultyProxy:
    """Passes requests on to the store at `address`; counts them, and fails at chosen ones."""

    def __init__(self, store: str) -> None:
        self.store = store.removeprefix("http://")
        self.address = ""
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

    def answer(self, request: Request) -> Answer | None:
        """Answer as the store does, or as the fault says that this request meets."""
        fault = self._take_fault(f"{request.method} {request.path}")
        if fault in INSTEAD:
            return INSTEAD[fault]
        if fault == "silent":
            self.is_over.wait()
            return None
        connection = http.client.HTTPConnection(self.store, timeout=600)
        connection.request(request.method, request.path, request.body, dict(request.headers))
        given = connection.getresponse()
        content = given.read()
        connection.close()
        if fault == "lost":
            return None
        headers = {name.title(): value for name, value in given.getheaders()}
        headers.pop("Transfer-Encoding", None)
        return Answer(content, given.status, headers | {"Connection": "close"})

    def _take_fault(self, request: str) -> Fault | None:
        """Count a request; return the fault that it meets."""
        with self._lock:
            if self._among not in request:
                return None
            self._num_seen += 1
            is_chosen = self._num_seen == self._number
            if self._lasts and self._number:
                is_chosen = self.is_met
            return self.fault if is_chosen else None


@contextmanager
def run_proxy(store: str) -> Iterator[FaultyProxy]:
    """Run a proxy before the store at this address while the block runs."""
    proxy = FaultyProxy(store)
    with serve_answers(proxy.answer) as proxy.address:
        try:
            yield proxy
        finally:
            proxy.is_over.set()
