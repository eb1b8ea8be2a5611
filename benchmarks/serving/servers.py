"""Start each server, wait for its first right answer, measure its memory, and always stop it."""

import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from .load import is_right, spell_label

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).with_name("peers")
BIN = Path(sys.executable).parent
ENVIRONMENT = ROOT / ".venv-bench"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
START_TIMEOUT_S, STOP_TIMEOUT_S, POLL_S = 120, 10, 0.02
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "BENTOML_DO_NOT_TRACK": "True",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "true",
}


class ServerError(Exception):
    """A server did not start, or died."""


@dataclass(frozen=True)
class Server:
    """How a server is started and asked."""

    title: str
    command: tuple[str, ...]  # {port} stands for the port
    path: str
    body: Callable[[str], Any]  # the JSON that asks for one text
    own_environment: bool = False  # runs in ENVIRONMENT


@dataclass(frozen=True)
class Running:
    """A server that has answered."""

    port: int
    process: psutil.Process
    start_s: float  # from the command to the first right answer

    def tree(self) -> list[psutil.Process]:
        """The server's processes."""
        return [self.process, *self.process.children(recursive=True)]

    def memory_mb(self) -> float:
        """Return the memory of all processes: PSS, which counts shared pages once, or else RSS."""
        return sum(_resident(process) for process in self.tree()) / 1e6

    def cpu_s(self) -> float:
        """CPU seconds that all processes have used."""
        times = [process.cpu_times() for process in self.tree()]
        return sum(one.user + one.system for one in times)


def servers(uri: str, pipeline: Path) -> dict[str, Server]:
    """All that are measured, in their order, with the registered model `uri`."""
    mlflow = (
        str(BIN / "mlflow"),
        "models",
        "serve",
        "--env-manager",
        "local",
        "-h",
        "127.0.0.1",
        "-p",
        "{port}",
        "-m",
    )
    bento = (
        str(ENVIRONMENT / "bin/bentoml"),
        "serve",
        "-q",
        "bentoml_peer:Classify",
        "--working-dir",
        str(PEERS),
    )

    def records(text: str) -> Any:
        return {"dataframe_records": [{"text": text}]}

    return {
        "mlflow-transformers": Server(
            "mlflow models serve, transformers",
            (*mlflow, str(pipeline)),
            "/invocations",
            lambda text: {"inputs": [text]},
        ),
        "mlflow-pyfunc": Server(
            "mlflow models serve, our PyFunc", (*mlflow, uri), "/invocations", records
        ),
        "litserve": Server(
            "LitServe, ONNX Runtime int8",
            (str(ENVIRONMENT / "bin/python"), str(PEERS / "litserve_peer.py"), "{port}"),
            "/predict",
            lambda text: {"text": text},
            own_environment=True,
        ),
        "bentoml": Server(
            "BentoML, ONNX Runtime int8",
            (*bento, "--host", "127.0.0.1", "--port", "{port}"),
            "/classify",
            lambda text: {"texts": [text]},
            own_environment=True,
        ),
        "plumbline": Server(
            "plumbline serve",
            (str(BIN / "plumbline"), "serve", uri, "--port", "{port}"),
            "/invocations",
            records,
        ),
        "plumbline-workers": Server(
            "plumbline serve --workers 2",
            (str(BIN / "plumbline"), "serve", uri, "--workers", "2", "--port", "{port}"),
            "/invocations",
            records,
        ),
    }


def install() -> None:
    """Make ENVIRONMENT, once for these requirements."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    ready = ENVIRONMENT / "ready"
    if ready.is_file() and ready.read_text(encoding="utf-8") == wanted:
        return
    print(f"installing the peers into {ENVIRONMENT.name}", flush=True)
    uv, python = str(BIN / "uv"), ENVIRONMENT / "bin/python"
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, ENVIRONMENT],
        [
            uv,
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            python,
            "-r",
            REQUIREMENTS,
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(
                f"the peers cannot be installed into {ENVIRONMENT.name}: {done.stderr.strip()}"
            )
    ready.write_text(wanted, encoding="utf-8")


@contextmanager
def running(
    server: Server, folder: Path, settings: Mapping[str, str], asked: tuple[str, str]
) -> Iterator[Running]:
    """Run `server` on a free port; enter the block at its first right answer to `asked`."""
    port = free_port()
    environment = {**os.environ, **QUIET, **settings}
    here = ENVIRONMENT / "bin" if server.own_environment else BIN
    environment["PATH"] = f"{here}{os.pathsep}{environment['PATH']}"
    command = [part.replace("{port}", str(port)) for part in server.command]
    log = folder / f"{port}.log"
    start = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    with ended(process):
        content = json.dumps(server.body(asked[0]))
        while not answers(port, server.path, content, asked[1]):
            if process.poll() is not None or time.perf_counter() - start > START_TIMEOUT_S:
                raise ServerError(f"{server.title} did not start: {_last_lines(log)}")
            time.sleep(POLL_S)
        yield Running(port, psutil.Process(process.pid), time.perf_counter() - start)


@contextmanager
def ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Stop `process` and its children after the block, whatever happens in it."""
    try:
        yield
    finally:
        try:
            children = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _, alive = psutil.wait_procs(children, timeout=2)
        for child in alive:
            child.kill()


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def answers(port: int, path: str, content: str, label: str) -> bool:
    """Whether the server at `port` answers one request with this label."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("POST", path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return is_right(answer.read(), spell_label(label)) and answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _resident(process: psutil.Process) -> float:
    try:
        found = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0.0
    return float(getattr(found, "pss", found.rss))


def _last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " | ".join(lines[-5:]) or "it said nothing"
