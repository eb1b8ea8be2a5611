"""Tests of the gates: faults are planted in models and data; the right gate must refuse each."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from plumbline.diagnostics.selftest import aa_test, fixture
from plumbline.diagnostics.selftest.aa_test import ALPHA, Rates
from plumbline.diagnostics.selftest.faults import list_faults
from plumbline.diagnostics.selftest.injection import Outcome, inject_fault
from plumbline.entrypoint import THREADS, load_task

__all__ = ["ALPHA", "Outcome", "Rates", "count_faults", "run"]

WORKERS = 2


def count_faults(task: str) -> int:
    """Return how many outcomes `run` yields; raises ParamsError if the task offers no faults."""
    return len(list_faults(load_task(task)))


def run(task: str) -> Iterator[Outcome | Rates]:
    """Yield the outcome of every fault and the rates of the A/A test, each when it is known."""
    num_faults = count_faults(task)
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="plumbline-selftest-") as private:
        folder = Path(private)
        with ProcessPoolExecutor(
            WORKERS, context, initializer=_redirect_output, initargs=(folder / "log.txt",)
        ) as pool:
            (folder / "fixture").mkdir()
            pool.submit(fixture.prepare_fixture, folder / "fixture", task).result()
            jobs: list[Future[Outcome | Rates]] = [pool.submit(_run_aa_test, folder)]
            jobs += [pool.submit(_run_fault, folder, task, number) for number in range(num_faults)]
            try:
                for done in as_completed(jobs):
                    yield done.result()
            finally:
                pool.shutdown(cancel_futures=True)


def _run_fault(folder: Path, task: str, number: int) -> Outcome:
    fault = list_faults(load_task(task))[number]
    checkout = fixture.copy_fixture(folder / "fixture", folder / f"fault{number}")
    with fixture.enter_checkout(checkout):
        return inject_fault(fault)


def _run_aa_test(folder: Path) -> Rates:
    checkout = fixture.copy_fixture(folder / "fixture", folder / "aa")
    with fixture.enter_checkout(checkout):
        return aa_test.compute_rates(checkout)


def _redirect_output(log: Path) -> None:
    """Write what stages print to a file; use one thread in each worker, as each has one core."""
    import torch

    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(handle, stream.fileno())
    torch.set_num_threads(1)
