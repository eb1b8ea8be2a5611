"""An HTTP server of a test's own on loopback, which ends at once when its block does."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread

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
