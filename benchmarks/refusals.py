"""CPU of a refusal for a full queue: by the protocol, and by the application, in turns.

python -m benchmarks.refusals [--requests 4000] [--rounds 6]

A server is filled up, then 32 connections ask it for what it refuses. The path of the second kind
has a query, which the protocol leaves to the application: that is how all were refused before.
Prints microseconds of CPU of the server's worker a refusal.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

import pytest
from benchmarks.machine import describe_machine
from benchmarks.worker_cost import measure_cpu_us
from tests.support.serving.full import WHOLE, full
from tests.support.serving.lines import Lines, make
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
                    cost = measure_cpu_us(server, request, arguments.requests, CONNECTIONS, 429)
                    costs[kind].append(cost)
    print(describe_machine())
    print("us of CPU a refusal: median of the rounds (least, most)")
    for kind, found in costs.items():
        print(f"{kind:<12} {median(found):6.0f} ({min(found):.0f}, {max(found):.0f})")
    ratios = [
        late / early for early, late in zip(costs["protocol"], costs["application"], strict=True)
    ]
    print(f"application / protocol, of each round: {median(ratios):.1f} x")


if __name__ == "__main__":
    main()
