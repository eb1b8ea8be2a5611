"""CPU that the worker of a server takes for a request: what the benchmarks of HTTP measure."""

import socket

from benchmarks.processes import read_cpu_us
from tests.support.serving.lines import Server
from tests.support.serving.load import list_workers


def measure_cpu_us(
    server: Server, request: bytes, num_requests: int, num_connections: int, status: int
) -> float:
    """Return microseconds of CPU of the worker a request, sockets included.

    Every connection gets a request, then each answer is read. SystemExit for another status.
    """
    (worker,) = list_workers(server.process.pid)
    opened = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(num_connections)]
    _ask_all(opened, request, status)
    before = read_cpu_us(worker)
    turns = max(1, num_requests // num_connections)
    for _ in range(turns):
        _ask_all(opened, request, status)
    used = read_cpu_us(worker) - before
    for connection in opened:
        connection.close()
    return used / (turns * num_connections)


def _ask_all(opened: list[socket.socket], request: bytes, status: int) -> None:
    """Send a request on each connection, then read an answer from each."""
    for connection in opened:
        connection.sendall(request)
    for connection in opened:
        with connection.makefile("rb") as answer:
            received = answer.readline()
            size = 0
            while (line := answer.readline()).strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
            answer.read(size)
        if not received.startswith(b"HTTP/1.1 %d" % status):
            raise SystemExit(f"expected an answer with status {status}, got {received!r}")
