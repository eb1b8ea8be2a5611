"""Programs as forks of a warm Python, asked for without a process in between."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.support.warm import client


def run_forked(
    server: Path, command: tuple[str, ...], cwd: Path, environment: Mapping[str, str], timeout: int
) -> subprocess.CompletedProcess[str]:
    """Run `python`, `dvc` or `plumbline` as the server in that folder runs it for a shell.

    Raises subprocess.TimeoutExpired, and then its process is killed.
    """
    name, *arguments = command
    program = client.describe_program(sys.executable, name, arguments)
    if program is None:
        raise ValueError(f"{command}: only a real interpreter runs that")
    request = program | {"folder": str(cwd), "environment": dict(environment)}
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as messages,
        Path(os.devnull).open("rb") as nothing,
        client.connect(server / "all", str(os.getpid()), sys.executable) as connection,
    ):
        streams = [file.fileno() for file in (nothing, output, messages)]
        client.send_request(connection, json.dumps(request).encode(), streams)
        connection.settimeout(timeout)
        try:
            code = client.read_status(connection)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout) from None
        return subprocess.CompletedProcess(command, code, _read(output), _read(messages))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
