"""Where the drill takes place: a clone, commands that are shown and checked, a server that is asked."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.selftest.ground import ELSEWHERE

WAIT_S = 120
ROWS_A_REQUEST = 10


@dataclass
class Scene:
    """A clone of this checkout; `say` is told every command, and what matters of its answer."""

    folder: Path
    say: Callable[[str], None]

    @classmethod
    def cloned(cls, folder: Path, say: Callable[[str], None]) -> "Scene":
        """The last commit of this checkout in `folder`, in place of an earlier drill."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["git", "clone", "--quiet", ".", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PlumblineError(
                f"the drill needs a git checkout with a commit ({done.stderr.strip()})"
            )
        scene = cls(folder.resolve(), say)
        for key, value in {
            "user.name": "drill",
            "user.email": "drill@localhost",
            "commit.gpgsign": "false",
        }.items():
            scene._finished("git", "config", key, value)
        with (folder / ".git/info/exclude").open("a", encoding="utf-8") as file:
            file.write("requests/\n")
        return scene

    @property
    def environment(self) -> dict[str, str]:
        """That of a person who works in the clone, whatever registry is named outside."""
        kept = {key: value for key, value in os.environ.items() if key not in ELSEWHERE}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
            "COLUMNS": "160",
        }

    def run(self, command: str, code: int = 0, show: Sequence[str] = ()) -> str:
        """Show and run a command that must end with `code`; tell the lines of its output with a word of `show`."""
        self.say(f"   $ {command}")
        done = self._finished(*shlex.split(command))
        said = f"{done.stdout}\n{done.stderr}"
        for line in said.splitlines():
            if any(word in line for word in show):
                self.say(f"     {line.strip()}")
        if done.returncode != code:
            raise PlumblineError(
                f"`{command}` ended with exit code {done.returncode}, not {code}:\n{said.strip()}"
            )
        return said

    def journal(self, model: str) -> list[dict[str, Any]]:
        """Every decision on a model so far."""
        done = self._finished("plumbline", "journal", model, "--json")
        require(done.returncode == 0, f"the journal can be read: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def commit(self, why: str) -> None:
        """What a person does before training: lineage names this commit."""
        self._finished("git", "add", "--all")
        self._finished("git", "commit", "--quiet", "--allow-empty", "--message", why)

    def edit(self, old: str, new: str) -> None:
        """Change params.yaml."""
        path = self.folder / "params.yaml"
        text = path.read_text(encoding="utf-8")
        require(old in text, f"params.yaml holds {old!r}")
        path.write_text(text.replace(old, new), encoding="utf-8")

    @contextmanager
    def serving(self, *options: str) -> Iterator["Server"]:
        """`plumbline serve` while the block runs; then it is stopped, and must have ended well."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            "plumbline",
            "serve",
            "models:/ticket-router@champion",
            "--poll-s",
            "1",
            *options,
        ]
        self.say(f"   $ {shlex.join(command)}")
        log = self.folder / ".plumbline" / "serve.log"
        log.parent.mkdir(exist_ok=True)
        with (
            log.open("w", encoding="utf-8") as file,
            subprocess.Popen(
                [*command, "--port", str(port)],
                cwd=self.folder,
                env=self.environment,
                stdout=file,
                stderr=file,
            ) as process,
        ):
            server = Server(port, process, log)
            try:
                until(server.is_ready, f"the server is ready; see {log}")
                yield server
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(WAIT_S)
        require(process.returncode == 0, f"the server ends well on SIGTERM; see {log}")

    def _finished(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def ask(self, texts: Sequence[str]) -> list[tuple[str, str]]:
        """Who answered each request of ten texts: version, and whether as champion or canary."""
        found = []
        for start in range(0, len(texts), ROWS_A_REQUEST):
            body = json.dumps({"inputs": {"text": list(texts[start : start + ROWS_A_REQUEST])}})
            status, headers, raw = self._request("POST", "/invocations", body)
            require(
                status == 200, f"every request is answered; one was with {status}: {raw[:200]!r}"
            )
            found.append((headers["x-plumbline-version"], headers["x-plumbline-side"]))
        return found

    def version(self) -> str:
        """Which version answers now."""
        return self.ask(["where is my parcel"])[0][0]

    def is_ready(self) -> bool:
        """Whether it says so itself."""
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
            answer = connection.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + WAIT_S
    while not holds():
        require(time.monotonic() < end, f"{what} within {WAIT_S} s")
        time.sleep(0.1)


def require(holds: bool, what: str) -> None:
    """PlumblineError where something does not hold that has to."""
    if not holds:
        raise PlumblineError(f"the drill failed, for this does not hold: {what}")
