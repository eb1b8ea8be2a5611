"""A Python that has imported the heavy libraries once, and forks a process for each program to run.

    server.py SOCKET KIND

A stage of the pipeline spends 3 to 15 CPU seconds on importing torch, MLflow and Great
Expectations, and the tests of whole checkouts start hundreds of stages. The server imports only
libraries, nothing of plumbline: each program imports the sources of its own checkout.
It listens on the socket that it inherits, and ends when pytest, which started it, is gone. Of the
kind `isolated` it imports only what a clean process may have that tries a package of MLflow.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import types
import warnings
from pathlib import Path
from typing import Any, NoReturn

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


def accept(listener: socket.socket) -> None:
    """Fork for each connection until pytest is gone."""
    controller = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener.settimeout(CHECK_S)
    while os.getppid() == controller:
        with contextlib.suppress(TimeoutError):
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                answer(client)
            client.close()
    os.killpg(0, signal.SIGKILL)


def answer(client: socket.socket) -> NoReturn:
    """Run a program in a process of its own, and report its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as file:
        request = json.loads(file.read(int.from_bytes(size, "big")))
    pid = os.fork()
    if pid == 0:
        client.close()
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        leave(run(request))
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    threading.Thread(target=forward_signals, args=(client, pid), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):  # the client was killed
        client.sendall(code.to_bytes(4, "big", signed=True))
    os._exit(0)


def forward_signals(client: socket.socket, pid: int) -> None:
    """Pass signals on; where the client is gone, end its process as well."""
    with contextlib.suppress(OSError):
        while numbers := client.recv(16):
            for number in numbers:
                os.kill(pid, number)
    os.kill(pid, signal.SIGKILL)


def run(request: dict[str, Any]) -> int:
    """Run the program and return its exit code."""
    try:
        become(request)
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


def become(request: dict[str, Any]) -> None:
    """Take over what an interpreter reads at its start, and run the program."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    tempfile.tempdir = None  # TMPDIR may be another one
    random.seed()  # each process draws other numbers, as fresh interpreters do
    sys.modules["numpy"].random.seed()
    sys.executable = request["executable"]  # as a rule, its own programs start fast as well
    options = request["options"]
    is_isolated, is_safe = "-I" in options, "-I" in options or "-P" in options
    path = "" if is_isolated else os.environ.get("PYTHONPATH", "")
    sys.path[:] = [entry for entry in path.split(os.pathsep) if entry] + BASE
    no_bytecode = not is_isolated and os.environ.get("PYTHONDONTWRITEBYTECODE")
    sys.dont_write_bytecode = bool("-B" in options or no_bytecode)
    importlib.invalidate_caches()
    if "-u" in options:
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    for rule in request["warnings"]:
        warnings._setoption(rule)  # type: ignore[attr-defined]
    kind, what = request["kind"], request["what"]
    sys.argv[:] = [what if kind == "script" else kind, *request["arguments"]]
    if not is_safe:
        sys.path.insert(0, str(Path(what).resolve().parent) if kind == "script" else "")
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102  what -c does
    else:
        runpy.run_path(what, run_name="__main__")


def keep_operators() -> None:
    """Read the operators of ONNX once for all exports: half a CPU second of each."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    ONNXRegistry.from_torchlib = staticmethod(functools.cache(ONNXRegistry.from_torchlib))
    ONNXRegistry().from_torchlib(opset_version=OPSET)  # as torch.onnx.export calls it


def keep_blank_store(blank: Path) -> None:
    """Let MLflow copy an empty database wherever it would make another one.

    It creates a SQLite database by some sixty migrations: one to two CPU seconds for a registry,
    and a hundred tests begin with an empty registry.
    """
    import sqlalchemy
    from mlflow.store.db import utils

    create = utils._initialize_tables

    def initialize_tables(engine: Any) -> None:
        path = Path(engine.url.database or "")
        if engine.dialect.name == "sqlite" and path.is_file() and not path.stat().st_size:
            with (
                contextlib.closing(sqlite3.connect(blank)) as old,
                contextlib.closing(sqlite3.connect(path)) as new,
            ):
                old.backup(new)
        else:
            create(engine)

    engine = sqlalchemy.create_engine(f"sqlite:///{blank}")
    create(engine)
    engine.dispose()
    utils._initialize_tables = initialize_tables


def main() -> None:
    listener, kind = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    gc.disable()  # a look for garbage at each step would take a quarter of the time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ISOLATED_LIBRARIES if kind == "isolated" else LIBRARIES:
            importlib.import_module(name)
    if kind == "all":
        keep_operators()
        keep_blank_store(Path("blank.db").absolute())
    gc.collect()
    gc.freeze()
    gc.enable()
    accept(listener)


BASE = list(sys.path)
main()
