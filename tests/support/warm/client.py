"""Run one Python program in a process forked from tests/support/warm/server.py.

    client.py FOLDER PYTHON NAME ARGUMENT...

The shell scripts that commands.py writes run it as `python`, `dvc`, `plumbline`. The program gets
the arguments, working folder, environment, standard streams and signals of this process, and this
process ends with its exit code. An isolated program (`python -I`) is forked from a second server,
which has imported MLflow alone. The real interpreter runs what the servers cannot: other options of
`python` than -B, -I, -P, -W, -u, -c and -m, and a server of models. As `worker` it is a `python`
that starts programs, if it does, with the real interpreter.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AT_START = ("PYTHONHASHSEED", "PYTHONPROFILEIMPORTTIME", "PYTHONMALLOC", "PYTHONOPTIMIZE")


def main() -> None:
    folder, python, name, *arguments = sys.argv[1:]
    is_python = name in ("python", "worker")
    real = python if is_python else str(Path(python).with_name(name))
    program = parse_python(arguments if is_python else ["-P", real, *arguments])
    is_serve = name == "plumbline" and arguments[:1] == ["serve"]  # imports nothing heavy
    if program is None or is_serve or any(key in os.environ for key in AT_START):
        os.execv(real, [real, *arguments])  # noqa: S606  no shell is needed
    program["executable"] = python if name == "worker" else f"{folder}/bin/python"
    request = program | {"folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"{folder}/{'isolated' if '-I' in program['options'] else 'all'}")
        status = run_there(server, json.dumps(request).encode())
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def parse_python(arguments: list[str]) -> dict[str, Any] | None:
    """Read the arguments of `python`; None where only the real interpreter will do."""
    options: list[str] = []
    warnings: list[str] = []
    program: dict[str, Any] = {"options": options, "warnings": warnings}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-B", "-I", "-P", "-u"):
            options.append(word)
        elif word == "-W" and rest:
            warnings.append(rest.pop(0))
        elif word in ("-c", "-m") and rest:
            return program | {"kind": word, "what": rest.pop(0), "arguments": rest}
        elif not word.startswith("-"):
            return program | {"kind": "script", "what": word, "arguments": rest}
        else:
            return None
    return None


def run_there(server: socket.socket, request: bytes) -> int:
    """Send the request with the standard streams, forward signals, and wait for the exit code.

    That of a process which a signal ended is negative.
    """
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    for number in FORWARDED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
    answer = server.recv(4, socket.MSG_WAITALL)
    if len(answer) < 4:
        sys.exit("the server of tests/support/warm ended")
    return int.from_bytes(answer, "big", signed=True)


if __name__ == "__main__":
    main()
