"""A Python that has imported MLflow: the selftest rehearses a hundred packages.

Measured: a rehearsal takes 4.2 CPU seconds with a new Python, 3.4 of them to import.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from plumbline.registry.package import clean_run
from plumbline.registry.package.clean_run import Ended

SERVER = Path(__file__).with_name("warm_server.py")


class WarmPython:
    """Runs programs as `clean_run.launch` does, each in a fork of one process that is clean."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "stderr.txt"
        for name in ("work", "home", "tmp"):
            (folder / name).mkdir(parents=True)
        self._process = subprocess.Popen(
            [clean_run.PYTHON, "-I", "-B", "-c", SERVER.read_text(encoding="utf-8")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder / "work",
            env=clean_run.build_environment(folder),
        )

    def launch(
        self,
        program: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        timeout_s: float,
    ) -> Ended:
        """See `clean_run.launch`."""
        request = {
            "program": program,
            "arguments": arguments,
            "folder": str(folder),
            "environment": environment,
            "timeout_s": timeout_s,
            "log": str(self._log),
        }
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the warm Python has no pipes")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        status = json.loads(self._process.stdout.readline())
        return Ended(status, self._log.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """End the process."""
        with self._process:
            self._process.kill()


def start_warm_python() -> None:
    """Rehearse with a warm Python in this process from now on; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="plumbline-warm-"))
    clean_run.launch = WarmPython(folder).launch
