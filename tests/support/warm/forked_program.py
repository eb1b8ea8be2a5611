"""A program of plumbline, asked of a warm server without a process in between."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.warm import client

# The folder of the warm servers and the process they end with: set by tests/conftest.py.
servers: list[tuple[Path, int]] = []


class ForkedProgram:
    """A process that a warm server has forked, in the words of subprocess.Popen."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = client.read_status(connection)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status; None as long as it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, negative where a signal ended it; subprocess.TimeoutExpired if late."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = client.read_status(self._connection)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_server(
    arguments: list[str], folder: Path, environment: Mapping[str, str], log: int
) -> "ForkedProgram | subprocess.Popen[bytes]":
    """Start `plumbline serve` with these arguments; what it prints goes to the file `log`.

    Where a fork will not do, such as for a variable that Python reads at its start, it is a fresh
    interpreter.
    """
    path = client.find_program(sys.executable, "plumbline")
    if not servers or any(key in environment for key in client.AT_START):
        return subprocess.Popen(
            [path, *arguments], cwd=folder, env=environment, stdout=log, stderr=log
        )
    place, controller = servers[0]
    program = {"kind": "script", "what": path, "arguments": arguments, "executable": sys.executable}
    request = program | {"folder": str(folder), "environment": dict(environment)}
    request |= {"safe_path": True, "warnings": [], "reports_pid": True}
    connection = client.connect(place / "serving", str(controller), sys.executable)
    with Path(os.devnull).open("rb") as nothing:
        client.send_request(connection, json.dumps(request).encode(), [nothing.fileno(), log, log])
    return ForkedProgram(connection)
