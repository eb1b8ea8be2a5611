"""A server that the drill started, and what has to be true of it."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline_selftest.protocol import SourceRow

WAIT_S = 120
ROWS_A_REQUEST = 10


@dataclass(frozen=True)
class Server:
    """A running `plumbline serve`."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    inputs: Sequence[str]  # columns of a row that the model takes

    def ask(self, rows: Sequence[SourceRow]) -> list[tuple[str, str]]:
        """Ask in requests of ten rows; who answered each: version, and `champion` or `canary`."""
        answered = []
        for start in range(0, len(rows), ROWS_A_REQUEST):
            some = rows[start : start + ROWS_A_REQUEST]
            columns = {name: [row[name] for row in some] for name in self.inputs}
            body = json.dumps({"inputs": columns})
            status, headers, raw = self._request("POST", "/invocations", body)
            require(status == 200, f"every request is answered; one got {status}: {raw[:200]!r}")
            answered.append((headers["x-plumbline-version"], headers["x-plumbline-side"]))
        return answered

    def ask_singly(self, rows: Sequence[SourceRow]) -> list[tuple[str, Any]]:
        """Ask in requests of one row; the id of each, and the answer."""
        answered = []
        for row in rows:
            body = json.dumps({"inputs": {name: [row[name]] for name in self.inputs}})
            status, headers, raw = self._request("POST", "/invocations", body)
            require(status == 200, f"every request is answered; one got {status}: {raw[:200]!r}")
            answered.append((headers["x-request-id"], json.loads(raw)["predictions"][0]))
        return answered

    def is_ready(self) -> bool:
        """Whether the server reports that it is ready; PlumblineError if it has ended."""
        require(self.process.poll() is None, f"the server runs; see {self.log}")
        try:
            return self._request("GET", "/ping")[0] == 200
        except (OSError, HTTPException):
            return False

    def _request(
        self, method: str, path: str, body: str | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, {"content-type": "application/json"})
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return response.status, headers, response.read()
        finally:
            connection.close()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until `holds` is true; raises PlumblineError after WAIT_S seconds."""
    end = time.monotonic() + WAIT_S
    while not holds():
        require(time.monotonic() < end, f"{what} within {WAIT_S} s")
        time.sleep(0.1)


def require(holds: bool, what: str) -> None:
    """Raise PlumblineError if something is not true that has to be."""
    if not holds:
        raise PlumblineError(f"the drill failed: this must be true and is not: {what}")
