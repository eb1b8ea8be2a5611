"""Where the drill takes place: a clone, commands that are shown and checked, a server."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.contract.loading import load_params
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline_selftest.drill.server import WAIT_S, Server, require, wait_until
from plumbline_selftest.fixture import REGISTRY_VARIABLES
from plumbline_selftest.protocol import DrillPart, SourceRow

# A `plumbline outcomes` that is run so many days later.
LATER = """
import sys
from datetime import datetime, timedelta
from plumbline_outcomes import commands

class Later(datetime):
    @classmethod
    def now(cls, zone=None):
        return datetime.now(zone) + timedelta(days={days})

commands.datetime = Later
commands.app()
"""
GIT_CONFIG = {"user.name": "drill", "user.email": "drill@localhost", "commit.gpgsign": "false"}


@dataclass
class Scene:
    """A clone of this checkout; `say` gets every command, and what matters of its output."""

    folder: Path
    task: Task[Params]
    part: DrillPart
    say: Callable[[str], None]

    @classmethod
    def clone_checkout(
        cls, folder: Path, task: Task[Params], part: DrillPart, say: Callable[[str], None]
    ) -> "Scene":
        """Clone the last commit of this checkout to `folder`; an earlier drill is deleted."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        scene = cls(folder.resolve(), task, part, say)
        done = scene._run_quietly("git", "clone", "--quiet", str(Path.cwd()), ".")
        if done.returncode:
            raise PlumblineError(
                f"the drill needs a git checkout with a commit ({done.stderr.strip()})"
            )
        for key, value in GIT_CONFIG.items():
            scene._run_quietly("git", "config", key, value)
        with (folder / ".git/info/exclude").open("a", encoding="utf-8") as file:
            file.write("requests/\nanswers/\nlabels.csv\n")
        return scene

    @property
    def model(self) -> str:
        """The registered name of the model."""
        return load_params(self.folder / "params.yaml").registry.model

    def run(self, command: str, code: int = 0, show: Sequence[str] = (), days: int = 0) -> str:
        """Show and run a command that must end with `code`; show lines with a word of `show`.

        `days`: with its clock set ahead by so many; it is one of `plumbline outcomes`.
        """
        self.say(f"   $ {command}" + (f"      ({days} days later)" if days else ""))
        words = shlex.split(command)
        if days:
            words = [sys.executable, "-c", LATER.format(days=days), *words[1:]]
        done = self._run_quietly(*words)
        output = f"{done.stdout}\n{done.stderr}"
        for line in output.splitlines():
            if any(word in line for word in show):
                self.say(f"     {line.strip()}")
        if done.returncode != code:
            raise PlumblineError(
                f"`{command}` ended with exit code {done.returncode}, not {code}:\n{output.strip()}"
            )
        return output

    def prepare(self, why: str, params: str, rows: Sequence[SourceRow]) -> None:
        """Write params and source, and commit them as a person does: lineage names this commit."""
        (self.folder / "params.yaml").write_text(params, encoding="utf-8")
        self.part.write_source(self.folder, rows)
        self._run_quietly("git", "add", "--all")
        self._run_quietly("git", "commit", "--quiet", "--allow-empty", "--message", why)

    def read_journal(self) -> list[dict[str, Any]]:
        """Return every decision on the model so far."""
        done = self._run_quietly("plumbline", "journal", self.model, "--json")
        require(done.returncode == 0, f"the journal can be read: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def read_bundle_digest(self) -> str:
        """Return the first digits of the digest of the bundle that was evaluated last."""
        evidence = json.loads((self.folder / "reports/evidence.json").read_text(encoding="utf-8"))
        return str(evidence["digests"]["bundle"])[:12]

    @contextmanager
    def run_server(self, *options: str) -> Iterator[Server]:
        """Run `plumbline serve` during the block; then stop it, and require that it ends well."""
        port = _find_free_port()
        champion = f"models:/{self.model}@champion"
        command = ["plumbline", "serve", champion, "--limit", "poll_s=1", *options]
        self.say(f"   $ {shlex.join(command)}")
        log = self.folder / ".plumbline" / "serve.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [*command, "--port", str(port)],
                cwd=self.folder,
                env=self._build_environment(),
                stdout=file,
                stderr=file,
            )
        inputs = [field.name for field in self.task.signature.inputs if field.required]
        server = Server(port, process, log, inputs)
        try:
            wait_until(server.is_ready, f"the server is ready; see {log}")
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)
        require(process.returncode == 0, f"the server ends well on SIGTERM; see {log}")

    def _build_environment(self) -> dict[str, str]:
        """The environment of a person who works in the clone, with the clone's own registry."""
        kept = {key: value for key, value in os.environ.items() if key not in REGISTRY_VARIABLES}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
            "COLUMNS": "160",
        }

    def _run_quietly(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self._build_environment(),
            capture_output=True,
            text=True,
            check=False,
        )


def _find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
