"""Compare servers: the same fine-tuned model and texts on one machine, one server after another.

    python benchmarks/serve.py [--model models:/NAME@champion | --bundle models/minilm]
                               [--only litserve plumbline] [--seconds 4] [--log]

The clients send the next request when the last one is answered; then arrivals come at random times,
at shares of what 64 clients reached. --log compares our own server without and with its log.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from machine import describe_machine
from processes import open_folder
from serving import servers

SERVING = Path(__file__).with_name("serving")
LEVELS = (1, 16, 64)  # clients
ROUNDS = 2  # starts of each server; the better one counts, since the machine may be shared
WARM_UP_S = 1.0
OPEN = (0.7, 3.0, 10.0)  # arrivals, of the answers a second to 64 clients
LOG_ROUNDS, LOG_CLIENTS = 5, 16
CONNECTIONS = 900  # of an open loop; a request that finds none free waits, and its wait counts

Level = dict[str, Any]  # a tally of load.py, as JSON


def main() -> None:
    """Measure each server and print the tables; exit code 1 where one could not be measured."""
    parser = argparse.ArgumentParser(description="Requests/s beside MLflow, LitServe and BentoML.")
    parser.add_argument("--model", default="", help="a registered encoder; default: the champion")
    parser.add_argument("--bundle", default="", help="a folder in place of a registered encoder")
    parser.add_argument("--only", choices=servers.NAMES, nargs="+", default=servers.NAMES)
    parser.add_argument("--seconds", type=float, default=4.0, help="that count, of each level")
    parser.add_argument("--log", action="store_true", help="what the log of requests costs")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers are to end too
    if {"litserve", "bentoml"} & set(options.only) and not options.log:
        servers.install()
    with open_folder("plumbline-serve-") as folder:
        if options.bundle:
            store = f"sqlite:///{folder / 'mlflow.db'}"
            os.environ |= {"MLFLOW_TRACKING_URI": store, "PLUMBLINE_CACHE": str(folder / "cache")}
        uri = prepare_model(options.bundle or options.model, folder)
        if options.log:
            print(f"{options.bundle or uri}; {describe_machine()}\n", flush=True)
            compare_logging(servers.list_logging(uri, folder / "requests"), folder, options.seconds)
            return
        known = servers.list_servers(uri, folder / "pipeline")
        asked = [known[name] for name in options.only]
        rounds = []
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", flush=True)
            rounds.append([measure(server, folder, options.seconds) for server in asked])
    best = [max(pair, key=lambda one: one.get("rate", 0)) for pair in zip(*rounds, strict=True)]
    print(f"{options.bundle or uri}; {describe_machine()}; shared with the load generator\n")
    print_table(("server", *LEVELS, "p50 at 1", "CPU a request", "memory", "wrong"), best, "closed")
    print_table(("server", "arrivals", "of peak", "p50", "p99", "refused", "lost"), best, "open")
    sys.exit("\n".join(one["problem"] for one in best if "problem" in one) or None)


def compare_logging(asked: list[servers.Server], folder: Path, seconds: float) -> None:
    """Print a row for each server: medians of LOG_ROUNDS, in which all take turns."""
    figures: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(LOG_ROUNDS):
        for server in asked:
            figures.setdefault(server.title, []).append(measure_closed(server, folder, seconds))
    print("| log | requests/s | p99 | CPU a request | to its off |\n|---|---|---|---|---|")
    for place, (title, rounds) in enumerate(figures.items()):
        rate, p99, cpu = (statistics.median(one) for one in zip(*rounds, strict=True))
        off = figures[asked[place - place % 2].title]
        ratio = statistics.median(one[2] / other[2] for one, other in zip(rounds, off, strict=True))
        print(f"| {title} | {rate:.0f} | {p99:.0f} ms | {cpu:.3f} ms | {ratio - 1:+.1%} |")


def measure_closed(
    server: servers.Server, folder: Path, seconds: float
) -> tuple[float, float, float]:
    """Return requests a second, p99 and CPU time of a request in ms, of LOG_CLIENTS clients."""
    texts = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    asked = [(json.dumps(server.body(text)), label) for text, label in texts]
    with servers.running(server, folder, asked[0]) as process:
        job = {"port": process.port, "path": server.path, "asked": asked, "seconds": seconds}
        before = process.cpu_s()
        level = run_load(job | {"warm_up": WARM_UP_S, "connections": LOG_CLIENTS})
        cpu_ms = (process.cpu_s() - before) / level["sent"] * 1e3
    return level["in_time"] / level["seconds"], level["p99_ms"], cpu_ms


def print_table(head: tuple[Any, ...], measured: list[dict[str, Any]], kind: str) -> None:
    """Print rows in Markdown."""
    print("|", " | ".join(map(str, head)), "|")
    print("|---" * len(head) + "|")
    for one in measured:
        for row in one.get(kind, []):
            print("|", " | ".join(row), "|")
    print()


def prepare_model(model: str, folder: Path) -> str:
    """Write what each server needs into `folder`, and return the URI of the registered version."""
    command = [sys.executable, str(SERVING / "prepare.py"), str(folder), model]
    environment = servers.build_environment(folder)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the model cannot be prepared: {done.stderr.strip()[-500:]}")
    return done.stdout.splitlines()[-1]


def measure(server: servers.Server, folder: Path, seconds: float) -> dict[str, Any]:
    """Start a server, and return its rows of both tables; its rate is that of most clients."""
    texts = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    asked = [(json.dumps(server.body(text)), label) for text, label in texts]
    try:
        with servers.running(server, folder, asked[0]) as process:
            job = {"port": process.port, "path": server.path, "asked": asked}
            job |= {"seconds": seconds, "warm_up": WARM_UP_S}
            levels = []
            for clients in LEVELS:
                before = process.cpu_s()
                levels.append(run_load(job | {"connections": clients}))
            cpu_ms = (process.cpu_s() - before) / max(1, levels[-1]["sent"]) * 1e3
            closed = describe_closed(server.title, levels, cpu_ms, process.memory_mb())
            peak = max(1.0, levels[-1]["in_time"] / seconds)
            job |= {"connections": CONNECTIONS}
            opened = [
                describe_open(server.title, share, run_load(job | {"rate": share * peak}), peak)
                for share in OPEN
            ]
    except servers.ServerError as error:
        return {"problem": str(error)}
    return {"closed": [closed], "open": opened, "rate": peak}


def describe_closed(title: str, levels: list[Level], cpu_ms: float, memory: float) -> list[str]:
    """Return a row: right answers a second, of most clients the CPU time, and the memory (PSS)."""
    rates = [f"{level['in_time'] / level['seconds']:.0f}" for level in levels]
    p50, wrong = levels[0]["p50_ms"], sum(level["wrong"] + level["failed"] for level in levels)
    return [title, *rates, f"{p50:.1f} ms", f"{cpu_ms:.1f} ms", f"{memory:.0f} MB", str(wrong)]


def describe_open(title: str, share: float, level: Level, peak: float) -> list[str]:
    """Return a row; lost is what was wrong, failed or never answered."""
    lost = level["wrong"] + level["failed"] + level["unanswered"]
    reached = f"{level['in_time'] / level['seconds'] / peak:.0%}"
    times = [f"{level[name]:.0f} ms" for name in ("p50_ms", "p99_ms")]
    return [title, f"{share:g} x", reached, *times, str(level["refused"]), str(lost)]


def run_load(job: dict[str, Any]) -> Level:
    """Run the load generator in a process of its own."""
    command, given = [sys.executable, str(SERVING / "load.py")], json.dumps(job)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise servers.ServerError(f"port {job['port']}: the load failed: {done.stderr[-500:]}")
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    main()
