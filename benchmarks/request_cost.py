"""CPU of the worker a request, without the model: what HTTP, the routes and the queue cost.

python -m benchmarks.request_cost [--beside ../before/src] [--requests 1280] [--rounds 6]

A model that only multiplies answers requests of one row. `--beside` names the folder `src` of
another checkout, such as one made by `git worktree add ../before HEAD~1`: its server is measured in
turns with this one. Prints microseconds of CPU a request, sockets included, by number of clients.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import pytest
from benchmarks.machine import describe_machine
from benchmarks.worker_cost import measure_cpu_us
from tests.support.serving.full import HOST, JSON
from tests.support.serving.lines import Lines, Server, make, serving
from tests.support.serving.models import line_task

CLIENTS = (1, 16, 64)
TENSOR = {"name": "x", "datatype": "FP64", "shape": [1], "data": [1.0]}
BODIES = {
    "/invocations": {"inputs": [1.0]},
    "/v2/models/line/infer": {"inputs": [TENSOR]},
}
Case = tuple[str, str, int]  # server, path, clients


def main() -> None:
    """Measure all cases in turns and print the table."""
    parser = argparse.ArgumentParser(description="CPU of a request without the model.")
    parser.add_argument("--beside", type=Path, help="the folder src of another checkout")
    parser.add_argument("--requests", type=int, default=1280, help="of each case in each round")
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    costs: dict[Case, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        lines = Lines(Path(folder).resolve())
        with pytest.MonkeyPatch.context() as patch:
            make(lines.folder, *line_task(patch))
        with running(lines, arguments.beside) as servers:
            for _ in range(arguments.rounds):
                for case in list_cases(servers):
                    name, path, clients = case
                    cost = measure_cpu_us(
                        servers[name], encode(path), arguments.requests, clients, 200
                    )
                    costs.setdefault(case, []).append(cost)
    print(describe_machine())
    print("us of CPU a request: median of the rounds (least, most)")
    for (name, path, clients), found in costs.items():
        spread = f"({min(found):.0f}, {max(found):.0f})"
        print(f"{path:<22} {clients:>3} clients  {name:<6} {median(found):6.0f} {spread}")


@contextmanager
def running(lines: Lines, beside: Path | None) -> Iterator[dict[str, Server]]:
    """This checkout's server, and that of the other where there is one."""
    with ExitStack() as stack:
        servers = {"this": stack.enter_context(serving(lines))}
        if beside:
            source = str(beside.resolve())
            servers["other"] = stack.enter_context(serving(lines, PYTHONPATH=source))
        yield servers


def list_cases(servers: dict[str, Server]) -> list[Case]:
    """All cases; the servers take turns."""
    return [(name, path, clients) for path in BODIES for clients in CLIENTS for name in servers]


def encode(path: str) -> bytes:
    """Return the request for one row."""
    body = json.dumps(BODIES[path]).encode()
    head = b"POST %s HTTP/1.1\r\n" % path.encode() + HOST + JSON
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


if __name__ == "__main__":
    main()
