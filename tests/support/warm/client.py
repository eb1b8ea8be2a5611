"""Run one Python program in a process forked from tests/support/warm/server.py.

    client.py FOLDER CONTROLLER PYTHON NAME ARGUMENT...

The shell scripts that commands.py writes run it as `python`, `dvc`, `plumbline`. The program gets
the arguments, working folder, environment, standard streams and signals of this process, and this
process ends with its exit code. An isolated program (`python -I`) is forked from a second server,
which has imported MLflow alone. The real interpreter runs what the servers cannot: other options of
`python` than -B, -I, -P, -W, -u, -c and -m, and a server of models. As `worker` it is a `python`
that starts programs, if it does, with the real interpreter.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AT_START = ("PYTHONHASHSEED", "PYTHONPROFILEIMPORTTIME", "PYTHONMALLOC", "PYTHONOPTIMIZE")
START_TIMEOUT_S = 600
started: list[object] = []  # a Popen warns when it is dropped while its process runs


def main() -> None:
    folder, controller, python, name, *arguments = sys.argv[1:]
    program = describe_program(python, name, arguments)
    if program is None or any(key in os.environ for key in AT_START):
        # By its path the interpreter finds its libraries.
        real = find_program(python, name)
        os.execv(real, [real, *arguments])  # noqa: S606  no shell is needed
    kind = "isolated" if program.get("isolated") else "all"
    server = connect(Path(folder) / kind, controller, python)
    request = program | {"folder": str(Path.cwd()), "environment": dict(os.environ)}
    status = run_there(server, json.dumps(request).encode())
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.stdout.flush()
    os._exit(status)


def find_program(python: str, name: str) -> str:
    """Return the path of a program, which is beside the interpreter `python` or is it."""
    return python if name in ("python", "worker") else str(Path(python).with_name(name))


def describe_program(python: str, name: str, arguments: list[str]) -> dict[str, object] | None:
    """Say what a server is to run; None where only the real interpreter will do."""
    if name not in ("python", "worker"):
        if name == "plumbline" and arguments[:1] == ["serve"]:  # imports nothing heavy
            return None
        path = find_program(python, name)
        fixed = {"kind": "script", "what": path, "safe_path": True, "warnings": []}
        return fixed | {"arguments": arguments}
    program = parse_python(arguments)
    if program is not None and name == "worker":
        program["executable"] = python
    return program


def parse_python(arguments: list[str]) -> dict[str, object] | None:
    """Read the arguments of `python`; None where only the real interpreter will do."""
    program: dict[str, object] = {"safe_path": False, "warnings": []}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-P":
            program["safe_path"] = True
        elif word == "-I":
            program |= {"safe_path": True, "isolated": True}
        elif word == "-B":
            program["no_bytecode"] = True
        elif word == "-u":
            program["unbuffered"] = True
        elif word == "-W" and rest:
            program["warnings"].append(rest.pop(0))  # type: ignore[attr-defined]
        elif word in ("-c", "-m") and rest:
            return program | {"kind": word, "what": rest.pop(0), "arguments": rest}
        elif not word.startswith("-"):
            return program | {"kind": "script", "what": word, "arguments": rest}
        else:
            return None
    return None


def connect(folder: Path, controller: str, python: str) -> socket.socket:
    """Connect to the server; the first caller starts it."""
    folder.mkdir(exist_ok=True)
    address = str(folder / "socket")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = try_to_connect(address)
        if connection:
            return connection
        start_server(folder, controller, python)
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until:
            connection = try_to_connect(address)
            if connection:
                return connection
            time.sleep(0.02)
    sys.exit(f"the server of tests/support/warm did not start: see {folder}/log")


def try_to_connect(address: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        return None
    return connection


def start_server(folder: Path, controller: str, python: str) -> None:
    server = Path(__file__).with_name("server.py")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MLFLOW_"))
    }
    # Read when the libraries are loaded, which the server does before a stage could ask for it. The
    # processes of pytest keep all cores busy: threads of NumPy would spin until others let them on.
    environment |= {"GOMP_SPINCOUNT": "3000", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [python, "-P", str(server), str(folder), controller],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        started.append(process)


def run_there(server: socket.socket, request: bytes) -> int:
    """Send the request with the standard streams, forward signals, and wait for the exit code.

    That of a process which a signal ended is negative.
    """
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    for number in FORWARDED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
    answer = b""
    while len(answer) < 4:
        part = server.recv(4 - len(answer))
        if not part:
            sys.exit("the server of tests/support/warm ended")
        answer += part
    return int.from_bytes(answer, "big", signed=True)


if __name__ == "__main__":
    main()
