"""CPU of a refusal for a full queue: by the protocol, and by the application, in turns.

python -m benchmarks.refusals [--requests 4000] [--rounds 6]

A server is filled up, then 32 connections ask it for what it refuses. The path of the second kind
has a query, which the protocol leaves to the application: that is how all were refused before.
Prints microseconds of CPU of the server's worker a refusal.
"""

import argparse
import socket
import tempfile
from pathlib import Path
from statistics import median

import pytest
from benchmarks.machine import describe_machine
from benchmarks.processes import read_cpu_us
from tests.support.serving.full import WHOLE, full
from tests.support.serving.lines import Lines, Server, make
from tests.support.serving.load import list_workers
from tests.support.serving.models import line_task

CONNECTIONS = 32
KINDS = {
    "protocol": WHOLE,
    "application": WHOLE.replace(b"/invocations ", b"/invocations?a "),
}


def main() -> None:
    """Measure both kinds in turns and print the table."""
    parser = argparse.ArgumentParser(description="CPU of a refusal for a full queue.")
    parser.add_argument("--requests", type=int, default=4000, help="of each kind in each round")
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        lines = Lines(Path(folder).resolve())
        with pytest.MonkeyPatch.context() as patch:
            make(lines.folder, *line_task(patch))
        with full(lines) as (server, _):
            for _ in range(arguments.rounds):
                for kind, request in KINDS.items():
                    costs[kind].append(measure(server, request, arguments.requests))
    print(describe_machine())
    print("us of CPU a refusal: median of the rounds (least, most)")
    for kind, found in costs.items():
        print(f"{kind:<12} {median(found):6.0f} ({min(found):.0f}, {max(found):.0f})")
    ratios = [
        late / early for early, late in zip(costs["protocol"], costs["application"], strict=True)
    ]
    print(f"application / protocol, of each round: {median(ratios):.1f} x")


def measure(server: Server, request: bytes, num_requests: int) -> float:
    """Return microseconds of CPU of the worker a request."""
    (worker,) = list_workers(server.process.pid)
    opened = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS)]
    ask_all(opened, request)
    before = read_cpu_us(worker)
    turns = num_requests // CONNECTIONS
    for _ in range(turns):
        ask_all(opened, request)
    used = read_cpu_us(worker) - before
    for connection in opened:
        connection.close()
    return used / (turns * CONNECTIONS)


def ask_all(opened: list[socket.socket], request: bytes) -> None:
    """Send a request on each connection, then read a refusal from each."""
    for connection in opened:
        connection.sendall(request)
    for connection in opened:
        received = connection.recv(65_536)
        while not received.endswith(b"}"):
            received += connection.recv(65_536)
        if not received.startswith(b"HTTP/1.1 429"):
            raise SystemExit(f"expected a refusal, got {received[:200]!r}")


if __name__ == "__main__":
    main()
