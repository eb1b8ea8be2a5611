"""The processes in which faults are planted; when the selftest is interrupted they end at once."""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path

WORKERS = 2
GRACE_S = 3.0


@contextlib.contextmanager
def open_workers(folder: Path) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool whose processes write temporary files below `folder`.

    Where the block ends by an error or an interruption, the processes end, and so do those that
    they started: nobody would use their results.
    """
    temporary = folder / "tmp"
    temporary.mkdir()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, context, _set_up, (str(temporary),)) as pool:
        # What is started meanwhile begins without Ctrl-C, which would print tracebacks.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        pool.submit(os.getpid)  # starts all processes
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _end_workers()
            raise


def redirect_output(log: Path) -> None:
    """Write what this process prints from now on to a file."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(handle, stream.fileno())
    os.close(handle)


def _set_up(temporary: str) -> None:
    """Set a worker up: a group of processes that Ctrl-C does not reach, and one thread."""
    import torch

    redirect_output(Path(temporary) / f"worker-{os.getpid()}.log")
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = temporary
    torch.set_num_threads(1)  # as each worker has one core
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _end_workers() -> None:
    """Interrupt the workers and what they started, so that they clean up; then kill the rest."""
    workers = multiprocessing.active_children()
    _send(signal.SIGINT, workers)
    until = time.monotonic() + GRACE_S
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
    _send(signal.SIGKILL, workers)
    for worker in workers:
        worker.kill()  # also where it has no group of its own yet


def _send(number: signal.Signals, workers: Sequence[BaseProcess]) -> None:
    """Send a signal to the group of each worker."""
    for worker in workers:
        if worker.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, number)
