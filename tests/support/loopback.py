"""An HTTP server of a test's own on loopback, which ends at once when its block does."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread
from urllib.request import urlopen

START_S = 600  # the machine may have much else to do
POLL_S = 0.01  # how often it looks whether to end; http.server does so twice a second


@contextmanager
def run_server(server: HTTPServer) -> Iterator[str]:
    """Let the server answer while the block runs; give its address."""
    with server:
        thread = Thread(target=server.serve_forever, args=(POLL_S,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


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
