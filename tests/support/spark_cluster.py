"""A Spark cluster on this machine: a master and workers, each a process of its own."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

SPARK = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
    reason="no Spark here: pyspark (requirements-spark.lock) or Java is not installed",
)
START_SECONDS = 600.0


@contextmanager
def run_spark_cluster(folder: Path, num_workers: int) -> Iterator[tuple[str, list[int]]]:
    """Give the master's address and the process ids of workers, each with a core."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    shared = ["--host", "127.0.0.1", "--webui-port", "0"]
    processes = [_start(folder, "master", "master.Master", [*shared, "--port", str(port)])]
    try:
        _wait_for(folder / "master.log", "New state: ALIVE")
        for number in range(num_workers):
            name = f"worker-{number}"
            options = [*shared, "--cores", "1", "--memory", "1g", "--work-dir", str(folder / name)]
            processes.append(_start(folder, name, "worker.Worker", [*options, master]))
        for number in range(num_workers):
            _wait_for(folder / f"worker-{number}.log", "Successfully registered with master")
        yield master, [process.pid for process in processes[1:]]
    finally:
        for process in processes:
            kill_with_children(process.pid)
            process.wait(600)


def count_children(pid: int) -> int:
    """Return how many processes are below this one: of a worker, an executor and its Python."""
    return len(psutil.Process(pid).children(recursive=True))


def kill_with_children(pid: int) -> int:
    """Kill a process and all below it, but for those that ended meanwhile; return how many."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    num_killed = 0
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.kill()
            num_killed += 1
    return num_killed


def _start(folder: Path, name: str, part: str, options: list[str]) -> "subprocess.Popen[bytes]":
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(program), f"org.apache.spark.deploy.{part}", *options],
            stdout=log, stderr=log, env=environment,
        )  # fmt: skip


def _wait_for(log: Path, words: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while words not in log.read_text():
        if time.monotonic() > deadline:
            pytest.fail(f"{log.name}: no {words!r} after {START_SECONDS:.0f} s: {log.read_text()}")
        time.sleep(0.1)
