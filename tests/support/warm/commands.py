"""`python`, `dvc`, `mlflow` and `plumbline` that start fast: forks of one warm interpreter.

They run what the real commands run, with the sources of the checkout that they are called in;
only the libraries are imported beforehand. Measured: `dvc repro` of the line takes 23 CPU seconds
in place of 71. The processes of pytest itself are such forks, as `worker`, and share the memory of
what was imported. PLUMBLINE_COLD_TESTS=1 runs every test with the real commands;
tests/e2e/test_first_run.py always uses them.
"""

import os
import shlex
import sys
from pathlib import Path

CLIENT = Path(__file__).with_name("client.py")
NAMES = ("python", "dvc", "mlflow", "plumbline", "worker")


def can_be_used() -> bool:
    """Whether a fork of a process that has loaded all libraries is safe here."""
    return sys.platform == "linux" and not os.environ.get("PLUMBLINE_COLD_TESTS")


def write_commands(folder: Path, controller: int) -> Path:
    """Write the commands into `folder`/bin and return that folder.

    The first command starts the server, which ends when the process `controller` does.
    """
    bin_folder = folder / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        words = [sys.executable, "-I", "-S", CLIENT, folder, controller, sys.executable, name]
        line = shlex.join(map(str, words))
        aside = bin_folder / f".{name}.{os.getpid()}"
        aside.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        aside.chmod(0o755)
        aside.replace(bin_folder / name)
    return bin_folder
