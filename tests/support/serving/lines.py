"""A real registry with a few versions of a line, and the real server on it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import Checkout, get_clean_environment

from plumbline.registry import promotion

SLOPES = {"1": 2.0, "2": 3.0, "3": 2.001}  # the third answers nearly as the first
MOODY = "4"
READY_S, PATIENCE_S = 600, 600  # the machine may have much else to do


@dataclass(frozen=True)
class Lines:
    """The registry `line`: versions 1 to 3 and a moody one; 1 is champion at first."""

    path: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        kept = get_clean_environment()
        store = f"sqlite:///{self.path}/mlruns/mlflow.db"
        return kept | {
            "MLFLOW_TRACKING_URI": store,
            "PLUMBLINE_CACHE": str(self.path / "cache"),
            "COLUMNS": "160",
        }

    @contextmanager
    def here(self) -> Iterator[None]:
        """This process uses it while the block runs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.path)
            for key in ("MLFLOW_TRACKING_URI", "PLUMBLINE_CACHE"):
                patch.setenv(key, self.environment[key])
            yield

    def champion(self, version: str) -> None:
        """Make `version` champion by the way that is open to it."""
        with self.here():
            was = [entry.version for entry in promotion.read_history("line") if entry.moves]
            if version == was[-1]:
                return
            if version in was:
                promotion.roll_back("line", version, "a test")
            else:
                promotion.promote("line", version, was[-1], "a test", override=True)


@dataclass
class Server:
    """`plumbline serve` as a process of its own."""

    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request on a connection of its own: status, headers, body."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def predict(self, *xs: float, **headers: str) -> tuple[int, dict[str, str], Any]:
        """Ask for the line's value at each x."""
        body = json.dumps({"inputs": list(xs)})
        status, found, raw = self.ask(
            "POST", "/invocations", body, content_type="application/json", **headers
        )
        return status, found, json.loads(raw)

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        lines = self.ask("GET", "/metrics")[2].decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def wait(self, what: Any, timeout_s: float = PATIENCE_S) -> None:
        """Wait until `what()` is true."""
        until = time.monotonic() + timeout_s
        while not what():
            assert time.monotonic() < until, f"in vain; the log says:\n{self.log.read_text()}"
            time.sleep(0.05)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def serving(
    lines: Lines | Checkout,
    *options: str,
    uri: str = "models:/line@champion",
    ready: bool = True,
    **environment: str,
) -> Iterator[Server]:
    """The server on a free port, ready; ended, if it still runs, when the block does."""
    free = socket.socket()  # bound while the block runs, so that nobody else gets the port
    free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    log = lines.path / f"serve-{port}.log"
    program = Path(sys.executable).with_name("plumbline")
    with log.open("w") as written:
        process = subprocess.Popen(
            [program, "serve", uri, "--port", str(port), *options],
            cwd=lines.path,
            env=lines.environment | environment,
            stdout=written,
            stderr=written,
        )
    server = Server(process, port, log)
    try:
        if ready:
            server.wait(lambda: is_ready(server), READY_S)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
        free.close()


def is_ready(server: Server) -> bool:
    """Whether it answers; an AssertionError where it has ended."""
    assert server.process.poll() is None, server.log.read_text()
    try:
        return server.ask("GET", "/v2/health/ready")[0] == 200
    except OSError:
        return False
