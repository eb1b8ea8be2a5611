"""Send the same malformed and hostile requests to `plumbline serve` and `mlflow models serve`.

    python -m benchmarks.probes

prints a table: the right status, each server's answer, and whether that was right. An answer is
right if its status is right, and if it is short (errors: 1,000 bytes), valid JSON where it claims
to be, and contains neither a stack trace nor parts of the request. No time is measured.
"""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from benchmarks.serving.attacks import CANARY, Probe, predictions, probes, request
from pydantic_core import from_json
from tests.support.serving.lines import Lines
from tests.support.serving.models import make_wide

BIN = Path(sys.executable).parent
START_S = 180
ANSWER_S = 15
CONNECT_S = 60
MAX_ERROR_BYTES = 1000
STALLED = 500
COMMANDS = {
    "plumbline": ("plumbline", "serve", "models:/wide@champion", "--port"),
    "mlflow": (
        "mlflow",
        "models",
        "serve",
        "--env-manager",
        "local",
        "-m",
        "models:/wide@champion",
        "--port",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What a server did with a probe."""

    text: str
    right: bool


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    port: int
    process: psutil.Process
    log: Path


def main() -> None:
    """Send every probe to both servers and print the table."""
    with tempfile.TemporaryDirectory(prefix="plumbline-probes-") as folder:
        lines = make_wide(Path(folder).resolve())
        found = {name: _run_probes(name, lines) for name in COMMANDS}
    ours, stock = found.values()
    print("| fault | probe | right | plumbline | mlflow models serve |\n|---|---|---|---|---|")
    for (fault, name, right), one in ours.items():
        other = stock[fault, name, right]
        cells = (fault, name, right, _format_outcome(one), _format_outcome(other))
        print(f"| {' | '.join(cells)} |")
    print(f"| | **right answers of {len(ours)}** | | {_count(ours)} | {_count(stock)} |")


def _run_probes(name: str, lines: Lines) -> dict[tuple[str, str, str], Outcome]:
    print(f"asking {name}", file=sys.stderr, flush=True)
    with _serving(name, lines) as server:
        pids = _list_workers(server)
        found = {
            (probe.fault, probe.name, probe.right): _send_probe(server, probe) for probe in probes()
        }
        found["D20", f"{STALLED} stalled connections, then /ping", "200"] = (
            _probe_with_stalled_connections(server)
        )
        found["E20", "no forged line and no control character in the log", "none"] = _check_log(
            server
        )
        survived = Outcome(
            "the same processes" if _list_workers(server) == pids else "others",
            _list_workers(server) == pids,
        )
        found["D23", "after all that", "the same processes"] = survived
        found["", "after all that, a right request", "200"] = _send_probe(
            server, next(iter(probes()))
        )
    return found


@contextmanager
def _serving(name: str, lines: Lines) -> Iterator[Running]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program, *options = COMMANDS[name]
    log = lines.folder / f"{name}.log"
    environment = lines.environment | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with log.open("wb") as written:
        command = [str(BIN / program), *options, str(port)]
        process = psutil.Popen(
            command, cwd=lines.folder, env=environment, stdout=written, stderr=subprocess.STDOUT
        )
    server = Running(port, process, log)
    try:
        until = time.monotonic() + START_S
        while (
            _exchange(
                server, request(b"Host: 127.0.0.1", line=b"GET /ping HTTP/1.1", length=False)
            )[0]
            != 200
        ):
            if time.monotonic() > until or process.poll() is not None:
                raise SystemExit(f"{name} does not answer:\n{log.read_text(errors='replace')}")
            time.sleep(0.2)
        yield server
    finally:
        tree = [process, *process.children(recursive=True)]
        process.terminate()
        for one in psutil.wait_procs(tree, timeout=20)[1]:
            one.kill()


def _send_probe(server: Running, probe: Probe) -> Outcome:
    status, kind, body, closed = _exchange(server, *probe.parts)
    # Closing the connection is an answer to a request that never ends.
    if status is None:
        return Outcome(
            "closed" if closed else f"no answer in {ANSWER_S} s",
            closed and probe.statuses == (408,),
        )
    wrong = [] if status in probe.statuses else ["status"]
    if probe.closes and not closed:
        wrong.append("connection stays open")
    if status >= 400 and len(body) > MAX_ERROR_BYTES:
        wrong.append("long")
    if "json" in kind and not _is_json(body):
        wrong.append("invalid JSON")
    if status >= 400 and CANARY.encode() in body:
        wrong.append("repeats the request")
    if b"Traceback" in body or b'File \\"' in body:
        wrong.append("stack trace")
    if probe.name.startswith("a right request") and predictions(body) is None:
        wrong.append("no prediction")
    return Outcome(
        f"{status}, {len(body)} B" + (f": {', '.join(wrong)}" if wrong else ""), not wrong
    )


def _exchange(server: Running, *parts: bytes) -> tuple[int | None, str, bytes, bool]:
    """Return the answer's status, content type, body, and whether the connection was closed."""
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=CONNECT_S) as connection:
            try:
                for part in parts:
                    connection.sendall(part)
            except ConnectionError:
                pass  # the answer may be there all the same
            connection.settimeout(ANSWER_S)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            status, kind, body = (
                answer.status,
                answer.headers.get("content-type", ""),
                answer.read(),
            )
            connection.settimeout(1)
            return status, kind, body, _is_closed(connection)
    except TimeoutError:
        return None, "", b"", False
    except (OSError, http.client.HTTPException):
        return None, "", b"", True


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def _probe_with_stalled_connections(server: Running) -> Outcome:
    with ExitStack() as stack:
        for _ in range(STALLED):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.sendall(b"POST /invocations HTTP/1.1\r\n")
        probe = Probe(
            "", "", (request(b"Host: 127.0.0.1", line=b"GET /ping HTTP/1.1", length=False),), (200,)
        )
        return _send_probe(server, probe)


def _check_log(server: Running) -> Outcome:
    raw = server.log.read_bytes()
    if any(line.startswith(b"CRITICAL forged") for line in raw.splitlines()):
        return Outcome("forged", right=False)
    return Outcome("escape codes", right=False) if b"\x1b" in raw else Outcome("none", right=True)


def _list_workers(server: Running) -> set[int]:
    return {child.pid for child in server.process.children(recursive=True)}


def _is_json(body: bytes) -> bool:
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return not body.strip()  # MLflow's /ping answers with a blank line
    return True


def _format_outcome(outcome: Outcome) -> str:
    return f"{'ok' if outcome.right else '**bad**'}: {outcome.text}"


def _count(outcomes: dict[tuple[str, str, str], Outcome]) -> str:
    return f"**{sum(one.right for one in outcomes.values())}**"


if __name__ == "__main__":
    main()
