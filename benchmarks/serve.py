"""Compare servers: the same fine-tuned model and texts on one machine, one server after another.

python benchmarks/serve.py [--model models/minilm] [--only litserve plumbline]
                           [--seconds 4] [--json FILE]
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
from machine import describe_machine
from serving import servers, tables

ROOT = Path(__file__).resolve().parents[1]
SERVING = ROOT / "benchmarks/serving"
LEVELS = (1, 16, 64)  # clients that send the next request when the last one is answered
ROUNDS = 2  # starts of each server; the better one counts, since the machine may be shared
WARM_UP_S = 1.0
# Arrivals of the open loops, as a share of what closed loop reached directly before.
OPEN = {"steady": 0.7, "flood": 3.0, "deluge": 10.0}
CALM = 0.7  # arrivals after each, likewise,
CALM_S = 4.0  # for so long
SOON = 8  # times the service time: a server that has recovered answers within
PEAK_CLIENTS, PEAK_S = 64, 2.0  # closed loop before and after each open loop
MAX_OTHERS = 0.1  # of the cores, by other programs; a measurement above it is repeated,
ATTEMPTS = 3  # so often at most
CONNECTIONS = 900  # of an open loop; a request that finds none free waits, and its wait counts
NAMES = (
    "mlflow-transformers",
    "mlflow-pyfunc",
    "litserve",
    "bentoml",
    "plumbline",
    "plumbline-workers",
)


def main() -> None:
    """Measure each server and print the tables; exit code 1 where one could not be measured."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="plumbline-serve-") as folder:
        found = _measure_all(arguments, Path(folder).resolve())
    print(tables.page(found, LEVELS))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(one["problems"] for one in found["servers"].values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Requests/s and latency beside MLflow, LitServe and BentoML."
    )
    parser.add_argument(
        "--model", type=Path, help="an encoder's bundle in a checkout; default: this one's champion"
    )
    parser.add_argument("--only", choices=NAMES, nargs="+", default=NAMES)
    parser.add_argument("--seconds", type=float, default=4.0, help="that count, of each level")
    parser.add_argument("--json", type=Path, help="write all figures to this file as well")
    return parser.parse_args()


def _measure_all(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if {"litserve", "bentoml"} & set(arguments.only):
        servers.install()
    print("preparing the model for each server", flush=True)
    settings = {
        "HF_HOME": str(folder / "hf"),
        "BENCH_MODEL": str(folder),
        "MLFLOW_UV_AUTO_DETECT": "false",
    }
    subject = _prepare_model(arguments.model, folder, settings)
    settings["MLFLOW_TRACKING_URI"] = subject["registry"]
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    own = {clients: _measure_generator(clients) for clients in LEVELS}
    known = servers.servers(subject["uri"], folder / "pipeline")
    found = {
        name: {"title": known[name].title, "rounds": [], "open": {}, "problems": []}
        for name in NAMES
        if name in arguments.only
    }
    for turn in range(ROUNDS):
        for name, one in found.items():
            print(f"round {turn + 1} of {ROUNDS}: {known[name].title}", flush=True)
            try:
                with servers.running(known[name], folder, settings, tuple(asked[0])) as server:
                    _measure(
                        one, server, known[name], asked, arguments.seconds, last=turn == ROUNDS - 1
                    )
            except servers.ServerError as error:
                one["problems"].append(str(error))
    machine = {"machine": describe_machine(), "max_others": MAX_OTHERS}
    return {"subject": subject, **machine, "generator": own, "servers": found}


def _prepare_model(model: Path | None, folder: Path, settings: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, str(SERVING / "prepare.py"), "--into", str(folder)]
    command += ["--model", str(model.resolve())] if model else []
    environment = {**os.environ, **servers.QUIET, **settings}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            "the model cannot be prepared: "
            f"{(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _measure(
    one: dict[str, Any],
    server: servers.Running,
    kind: servers.Server,
    asked: list[tuple[str, str]],
    seconds: float,
    last: bool,
) -> None:
    """Add to `one` a round of closed loops, and in the last round the open loops."""
    requests = [(json.dumps(kind.body(text)), label) for text, label in asked]
    closed = {
        clients: _measure_quietly(
            server, kind.path, requests, connections=clients, seconds=seconds, warm_up=WARM_UP_S
        )
        for clients in LEVELS
    }
    again = _ask_wrong_again(server, kind.path, requests, closed)
    one["rounds"].append(
        {"start_s": server.start_s, "closed": closed, "memory_mb": server.memory_mb()} | again
    )
    if last:
        service_ms = (closed[1]["took_ms"] or {"p50": float("inf")})["p50"]
        for name, share in OPEN.items():
            done = _measure_open(server, kind.path, requests, share, SOON * service_ms, seconds)
            one["open"][name] = done | {"memory_mb": server.memory_mb()}


def _measure_open(
    server: servers.Running,
    path: str,
    requests: list[tuple[str, str]],
    share: float,
    soon_ms: float,
    seconds: float,
) -> dict[str, Any]:
    """Send `share` of what the server can answer now, then less; add its peaks before and after."""
    peak = _measure_peak(server, path, requests)
    job = {"connections": CONNECTIONS, "seconds": seconds, "warm_up": WARM_UP_S}
    job |= {"rate": max(1.0, share * peak), "soon_ms": soon_ms}
    job |= {"calm_rate": max(1.0, CALM * peak), "calm_s": CALM_S}
    done = _measure_quietly(server, path, requests, **job)
    peaks = [peak, _measure_peak(server, path, requests)]
    return done | {"rate": job["rate"], "peaks": peaks, "peak": sum(peaks) / len(peaks)}


def _measure_peak(server: servers.Running, path: str, requests: list[tuple[str, str]]) -> float:
    """Return the right answers a second of a short closed loop."""
    level = _measure_quietly(server, path, requests, connections=PEAK_CLIENTS, seconds=PEAK_S)
    return max(1.0, level["right"] / level["seconds"])


def _measure_quietly(
    server: servers.Running, path: str, requests: list[tuple[str, str]], **job: Any
) -> dict[str, Any]:
    """Measure again while other programs take too much; return what was disturbed least."""
    attempts: list[dict[str, Any]] = []
    while len(attempts) < ATTEMPTS and not any(one["others"] <= MAX_OTHERS for one in attempts):
        attempts.append(_measure_load(server, path, requests, **job))
    least = min(attempts, key=lambda one: float(one["others"]))
    return least | {"attempts": len(attempts)}


def _ask_wrong_again(
    server: servers.Running,
    path: str,
    requests: list[tuple[str, str]],
    closed: dict[int, dict[str, Any]],
) -> dict[str, int]:
    """Ask each text that got a wrong answer once more, alone: how many there are, and are right."""
    wrong = {place for level in closed.values() for place in level["wrong_requests"]}
    right = [place for place in wrong if servers.answers(server.port, path, *requests[place])]
    return {"wrong_texts": len(wrong), "right_alone": len(right)}


def _measure_load(
    server: servers.Running, path: str, requests: list[tuple[str, str]], **job: Any
) -> dict[str, Any]:
    """Run the load generator; add the share of the cores that other programs used."""
    before = _busy_s(), server.cpu_s()
    done = _run_generator({"port": server.port, "path": path, "asked": requests, **job})
    busy, own = _busy_s(), server.cpu_s()
    idle = busy["total"] - before[0]["total"]
    others = (
        busy["busy"]
        - before[0]["busy"]
        - (own - before[1])
        - (busy["children"] - before[0]["children"])
    )
    cpu_ms = (own - before[1]) / max(1, done["sent"]) * 1e3
    return done | {"others": max(0.0, others / idle), "server_cpu_ms": cpu_ms}


def _measure_generator(clients: int) -> dict[str, Any]:
    """The generator against a server that does nothing."""
    port = servers.free_port()
    command = [sys.executable, str(SERVING / "trivial.py"), str(port), "right"]
    process = subprocess.Popen(command)
    with servers.ended(process):
        requests = [(json.dumps({"text": "where is my card"}), "right")]
        return _run_generator(
            {"port": port, "path": "/", "asked": requests, "connections": clients, "seconds": 1.0}
        )


def _run_generator(job: dict[str, Any]) -> dict[str, Any]:
    timeout = job["seconds"] + job.get("calm_s", 0.0) + 60
    command = [sys.executable, str(SERVING / "load.py")]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise servers.ServerError(
            f"port {job['port']}: the load did not end within {timeout:.0f} s"
        ) from None
    if done.returncode:
        raise servers.ServerError(
            f"the load generator failed: {done.stderr.strip().splitlines()[-1]}"
        )
    return dict(json.loads(done.stdout))


def _busy_s() -> dict[str, float]:
    """Return CPU seconds of the machine so far: total, busy, and those of children that ended."""
    times = psutil.cpu_times()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Time of guests is part of the user time as well.
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return {
        "total": total,
        "busy": total - times.idle - getattr(times, "iowait", 0.0),
        "children": used.ru_utime + used.ru_stime,
    }


if __name__ == "__main__":
    main()
