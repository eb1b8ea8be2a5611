"""`python`, `dvc`, `mlflow` and `plumbline` that start fast: forks of one warm interpreter.

They run what the real commands run, with the sources of the checkout that they are called in;
only the libraries are imported beforehand. Measured: the fast tests of stages, commands and
workflows take 5 minutes in place of 14. The processes of `pytest -n` are such forks, as `worker`.
Without -n, and with PLUMBLINE_COLD_TESTS=1, every test runs the real commands;
tests/e2e/test_first_run.py always does.
"""

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = ("python", "dvc", "mlflow", "plumbline", "worker")
servers: list[object] = []  # a Popen warns when it is dropped while its process runs


def can_be_used() -> bool:
    """Whether a fork of a process that has loaded all libraries is safe here."""
    return sys.platform == "linux" and not os.environ.get("PLUMBLINE_COLD_TESTS")


def start(folder: Path) -> None:
    """Start the servers, which end with this process, and write the commands into folder/bin."""
    (folder / "bin").mkdir(parents=True)
    for kind in ("all", "isolated"):
        start_server(folder, kind)
    for name in NAMES:
        words = [sys.executable, "-I", "-S", FOLDER / "client.py", folder, sys.executable, name]
        line = shlex.join(map(str, words))
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)


def start_server(folder: Path, kind: str) -> None:
    """Start server.py on the socket folder/KIND; who connects before it is ready waits."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MLFLOW_"))
    }
    # Read when the libraries are loaded, which the server does before a stage could ask for it. The
    # processes of pytest keep all cores busy: threads of NumPy would spin until others let them on.
    environment |= {"GOMP_SPINCOUNT": "3000", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"MLFLOW_DISABLE_TELEMETRY": "true"}
    with socket.socket(socket.AF_UNIX) as listener, (folder / f"{kind}.log").open("w") as log:
        listener.bind(str(folder / kind))
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-P", FOLDER / "server.py", str(listener.fileno()), kind],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    servers.append(process)
