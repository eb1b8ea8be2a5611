"""Start each server, wait for its first right answer, measure its memory, and always stop it."""

import hashlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from .load import is_right, spell_label

PEERS = Path(__file__).with_name("peers")
BIN = Path(sys.executable).parent
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-bench"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
START_TIMEOUT_S, STOP_TIMEOUT_S, POLL_S = 120, 10, 0.02
MLFLOW = f"{BIN}/mlflow models serve --env-manager local -h 127.0.0.1 -p PORT -m"
BENTO = f"{ENVIRONMENT}/bin/bentoml serve -q bentoml_peer:Classify --host 127.0.0.1 --port PORT"
NAMES = (
    "mlflow-transformers",
    "mlflow-pyfunc",
    "litserve",
    "bentoml",
    "plumbline",
    "plumbline-workers",
)


class ServerError(Exception):
    """A server did not start, or died."""


@dataclass(frozen=True)
class Server:
    """How a server is started and asked."""

    title: str
    command: str  # PORT stands for the port
    path: str
    body: Callable[[str], Any]  # the JSON that asks for one text


@dataclass(frozen=True)
class Running:
    """A server that has answered."""

    port: int
    process: psutil.Process

    def memory_mb(self) -> float:
        """Return the memory of all processes: PSS, which counts shared pages once."""
        return sum(process.memory_full_info().pss for process in self._list_processes()) / 1e6

    def cpu_s(self) -> float:
        """Return the CPU seconds that all processes have used."""
        times = [process.cpu_times() for process in self._list_processes()]
        return sum(one.user + one.system for one in times)

    def _list_processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


def list_servers(uri: str, pipeline: Path) -> dict[str, Server]:
    """Return all that are measured by their names, with the registered model `uri`."""

    def ask_records(text: str) -> Any:
        return {"dataframe_records": [{"text": text}]}

    own, path = f"{BIN}/plumbline serve {uri} --port PORT", "/invocations"
    litserve = f"{ENVIRONMENT}/bin/python {PEERS}/litserve_peer.py PORT"
    servers = (
        Server(
            "MLflow, transformers", f"{MLFLOW} {pipeline}", path, lambda text: {"inputs": [text]}
        ),
        Server("MLflow, our PyFunc", f"{MLFLOW} {uri}", path, ask_records),
        Server("LitServe, int8", litserve, "/predict", lambda text: {"text": text}),
        Server(
            "BentoML, int8",
            f"{BENTO} --working-dir {PEERS}",
            "/classify",
            lambda text: {"texts": [text]},
        ),
        Server("plumbline", own, path, ask_records),
        Server("plumbline, --workers 2", f"{own} --workers 2", path, ask_records),
    )
    return dict(zip(NAMES, servers, strict=True))


def list_logging(uri: str, log: Path) -> list[Server]:
    """Return our server without and with a log of its requests, alone and with a shadow's pairs.

    The shadow is the same version, so that only the log makes a difference.
    """
    shadow, logged = f"--shadow {uri.rpartition('/')[2]}", f"--log-folder {log}"
    options = {"off": "", "on": logged, "shadow, off": shadow, "shadow, on": f"{shadow} {logged}"}
    own = f"{BIN}/plumbline serve {uri} --port PORT"
    return [
        Server(name, f"{own} {more}", "/invocations", lambda text: {"inputs": [text]})
        for name, more in options.items()
    ]


def install() -> None:
    """Make ENVIRONMENT, once for these requirements."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    ready = ENVIRONMENT / "ready"
    if ready.is_file() and ready.read_text(encoding="utf-8") == wanted:
        return
    print(f"installing the peers into {ENVIRONMENT.name}", flush=True)
    uv, python = f"{BIN}/uv", f"{ENVIRONMENT}/bin/python"
    create = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(ENVIRONMENT)]
    subprocess.run(create, check=True)
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    subprocess.run([*install, "-r", str(REQUIREMENTS)], check=True)
    ready.write_text(wanted, encoding="utf-8")


def build_environment(folder: Path) -> dict[str, str]:
    """Return the variables of each server, whose model is in `folder`."""
    return {
        **os.environ,
        "HF_HOME": str(folder / "hf"),
        "BENCH_MODEL": str(folder),
        "MLFLOW_UV_AUTO_DETECT": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "BENTOML_DO_NOT_TRACK": "True",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "true",
    }


@contextmanager
def running(server: Server, folder: Path, asked: tuple[str, str]) -> Iterator[Running]:
    """Run `server` on a free port; enter the block at its first right answer to `asked`."""
    port = find_free_port()
    command = server.command.replace("PORT", str(port)).split()
    environment = build_environment(folder)
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment['PATH']}"
    log = folder / f"{port}.log"
    start = time.perf_counter()
    with log.open("wb") as output:
        process = psutil.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        while not answers(port, server.path, *asked):
            if process.poll() is not None or time.perf_counter() - start > START_TIMEOUT_S:
                said = log.read_text(encoding="utf-8", errors="replace")[-500:]
                raise ServerError(f"{server.title} did not start: {said}")
            time.sleep(POLL_S)
        yield Running(port, process)
    finally:
        stop(process)


def stop(process: psutil.Popen) -> None:
    """End a process that may have ended, and its children."""
    children = process.children(recursive=True) if process.is_running() else []
    process.terminate()
    _, alive = psutil.wait_procs([process, *children], timeout=STOP_TIMEOUT_S)
    for child in alive:
        child.kill()


def find_free_port() -> int:
    """Return a port on which nobody listens now."""
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
