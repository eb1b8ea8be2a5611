"""A Python that has imported the heavy libraries once, and forks a process for each program to run.

    server.py FOLDER CONTROLLER

A stage of the pipeline spends 3 to 15 CPU seconds on importing torch, MLflow and Great
Expectations, and the tests of whole checkouts start hundreds of stages. The server imports only
libraries, nothing of plumbline: each program imports the sources of its own checkout.
It listens on FOLDER/socket and ends when the process CONTROLLER (pytest) is gone. In the folder
`isolated` it imports only what a clean process may have that tries a package of MLflow.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import resource
import runpy
import selectors
import signal
import socket
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OPSET = 20  # of the graphs in bundles

ISOLATED_LIBRARIES = ("pandas", "mlflow", "mlflow.pyfunc")
LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.stats",
    "sqlalchemy",
    "alembic.command",
    "pydantic",
    "ruamel.yaml",
    "typer",
    "rich.console",
    "mlflow",
    "mlflow.models",
    "mlflow.pyfunc",
    "mlflow.store.model_registry.sqlalchemy_store",
    "mlflow.store.tracking.sqlalchemy_store",
    "mlflow.tracking.client",
    "dvc.cli",
    "dvc.commands.repro",
    "dvc.repo.experiments",
    "dvc.repo.reproduce",
    "dvc.stage.run",
    "torch",
    "torch.onnx",
    "onnx",
    "onnxruntime",
    # What torch.onnx imports when it exports for the first time.
    "onnxscript.function_libs.torch_lib.ops",
    "networkx",
    "torch._inductor.decomposition",
    "great_expectations",
    "great_expectations.expectations",
    "matplotlib.figure",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "sklearn.model_selection",
)
CHECK_S = 2.0  # how often the server looks whether pytest still runs


class Server:
    """Accepts connections, forks a process for each, and reports its exit code."""

    def __init__(self, listener: socket.socket, controller: int) -> None:
        self.listener = listener
        self.controller = controller
        self.selector = selectors.DefaultSelector()
        self.clients: dict[int, socket.socket] = {}
        self.wake, self.woken = socket.socketpair()
        for end in (self.wake, self.woken):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.woken.fileno())
        self.selector.register(self.listener, selectors.EVENT_READ, "listener")
        self.selector.register(self.wake, selectors.EVENT_READ, "wake")

    def serve(self) -> dict[str, Any] | None:
        """Fork until pytest is gone; in a forked process, return its request."""
        while is_running(self.controller):
            for key, _ in self.selector.select(CHECK_S):
                if key.data == "listener":
                    request = self.accept()
                    if request is not None:
                        return request
                elif key.data == "wake":
                    self.report_ended()
                else:
                    self.forward(key.data, key.fileobj)
        for pid in self.clients:
            os.kill(pid, signal.SIGKILL)
        print_cpu_seconds()
        return None

    def accept(self) -> dict[str, Any] | None:
        """Fork for one connection; only the forked process gets the request."""
        client, _ = self.listener.accept()
        received = receive(client)
        if received is None:
            client.close()
            return None
        streams, request = received
        pid = os.fork()
        if pid == 0:
            self.leave(client)
            for target, stream in enumerate(streams):
                os.dup2(stream, target)
                os.close(stream)
            return request
        for stream in streams:
            os.close(stream)
        self.clients[pid] = client
        self.selector.register(client, selectors.EVENT_READ, pid)
        return None

    def leave(self, client: socket.socket) -> None:
        """Forget, in a forked process, all that belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for end in (self.listener, self.wake, self.woken, client, *self.clients.values()):
            end.close()

    def report_ended(self) -> None:
        """Send the exit code of each process that has ended to whoever waits for it."""
        self.wake.recv(4096)
        while self.clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            client = self.clients.pop(pid)
            if client in self.selector.get_map():
                self.selector.unregister(client)
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):  # the client was killed
                client.sendall(code.to_bytes(4, "big", signed=True))
            client.close()

    def forward(self, pid: int, client: Any) -> None:
        """Pass a signal on; where the client is gone, end its process as well."""
        if pid not in self.clients:
            return
        try:
            numbers = client.recv(16)
        except OSError:
            numbers = b""
        if not numbers:
            self.selector.unregister(client)  # it would be ready to be read for ever
        for number in numbers or [signal.SIGKILL]:
            os.kill(pid, number)


def print_cpu_seconds() -> None:
    """Print what the programs took: `time pytest` misses it, as they are not its children."""
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        sys.stdout.write(f"user {usage.ru_utime:.1f} s, system {usage.ru_stime:.1f} s\n")
        sys.stdout.flush()


def receive(client: socket.socket) -> tuple[list[int], dict[str, Any]] | None:
    """Read the three standard streams and the request; None where the client was killed before."""
    streams: list[int] = []
    try:
        size, streams, _, _ = socket.recv_fds(client, 8, 3)
        with client.makefile("rb") as file:
            body = file.read(int.from_bytes(size, "big"))
        return streams, json.loads(body)
    except (OSError, ValueError):
        for stream in streams:
            os.close(stream)
        return None


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(request: dict[str, Any], base: list[str]) -> int:
    """Run the program and return its exit code."""
    try:
        become(request, base)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001  reported as the interpreter reports it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def leave(code: int) -> None:
    """End this process as the interpreter does, save for the libraries' own clean-up in C++.

    They would wait for threads that a fork does not take along.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def become(request: dict[str, Any], base: list[str]) -> None:
    """Take over what an interpreter reads at its start, and run the program."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    tempfile.tempdir = None  # TMPDIR may be another one
    reseed()
    sys.executable = request["executable"]  # as a rule, its own programs start fast as well
    is_isolated = bool(request.get("isolated"))
    path = "" if is_isolated else os.environ.get("PYTHONPATH", "")
    sys.path[:] = [entry for entry in path.split(os.pathsep) if entry] + base
    no_bytecode = not is_isolated and os.environ.get("PYTHONDONTWRITEBYTECODE")
    sys.dont_write_bytecode = bool(request.get("no_bytecode") or no_bytecode)
    importlib.invalidate_caches()
    if request.get("unbuffered"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    for rule in request["warnings"]:
        warnings._setoption(rule)  # type: ignore[attr-defined]
    kind, what = request["kind"], request["what"]
    sys.argv[:] = [what if kind == "script" else kind, *request["arguments"]]
    if kind == "-m":
        if not request["safe_path"]:
            sys.path.insert(0, "")
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        if not request["safe_path"]:
            sys.path.insert(0, "")
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102  what -c does
    else:
        if not request["safe_path"]:
            sys.path.insert(0, str(Path(what).resolve().parent))
        runpy.run_path(what, run_name="__main__")


def reseed() -> None:
    """Two processes of the same server draw different random numbers, as fresh interpreters do."""
    random.seed()
    sys.modules["numpy"].random.seed()


def load_libraries(names: Sequence[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            importlib.import_module(name)


def keep_operators() -> None:
    """Read the operators of ONNX once for all exports: half a CPU second of each."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    ONNXRegistry.from_torchlib = staticmethod(functools.cache(ONNXRegistry.from_torchlib))
    ONNXRegistry().from_torchlib(opset_version=OPSET)  # as torch.onnx.export calls it


def main() -> None:
    folder, controller = Path(sys.argv[1]), int(sys.argv[2])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = folder / "socket"
    path.unlink(missing_ok=True)  # that of a server that was killed; who starts one holds a lock
    listener.bind(str(path))
    listener.listen(64)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # a look for garbage at each step would take a quarter of the time
    install = runpy.run_path(str(Path(__file__).with_name("blank_store.py")))["install_blank_store"]
    install(folder.parent)
    if folder.name == "isolated":
        load_libraries(ISOLATED_LIBRARIES)
    else:
        load_libraries(LIBRARIES)
        keep_operators()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    base = list(sys.path)
    gc.collect()
    gc.freeze()
    gc.enable()
    request = Server(listener, controller).serve()
    if request is not None:
        leave(run({"executable": str(folder.parent / "bin/python")} | request, base))


main()
