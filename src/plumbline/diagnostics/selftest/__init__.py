"""The gates are tested too: faulty models and data are planted, and each must be refused by the gate that names it."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from plumbline.diagnostics.selftest import ground, plants, twins
from plumbline.diagnostics.selftest.plants import PLANTS, Outcome
from plumbline.diagnostics.selftest.twins import ALPHA, Rates
from plumbline.entrypoint import THREADS

__all__ = ["ALPHA", "PLANTS", "Outcome", "Rates", "run"]

WORKERS = 2


def run() -> Iterator[Outcome | Rates]:
    """What came of every plant, and how often twins are taken for different, each as soon as it is known."""
    os.environ.update({name: value for name, value in THREADS.items() if name not in os.environ})
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="plumbline-selftest-") as private:
        folder = Path(private)
        with ProcessPoolExecutor(
            WORKERS, context, initializer=_quiet, initargs=(folder / "log.txt",)
        ) as pool:
            (folder / "ground").mkdir()
            pool.submit(ground.prepare, folder / "ground").result()
            jobs: list[Future[Outcome | Rates]] = [pool.submit(_twins, folder)]
            jobs += [pool.submit(_plant, folder, number) for number in range(len(PLANTS))]
            try:
                for done in as_completed(jobs):
                    yield done.result()
            finally:
                pool.shutdown(cancel_futures=True)


def _plant(folder: Path, number: int) -> Outcome:
    with ground.entered(ground.copied(folder / "ground", folder / f"plant{number}")):
        return plants.watched(PLANTS[number])


def _twins(folder: Path) -> Rates:
    here = ground.copied(folder / "ground", folder / "twins")
    with ground.entered(here):
        return twins.measured(here)


def _quiet(log: Path) -> None:
    """What stages print in a worker goes to a file; one thread a worker, since there is a worker for each core."""
    import torch

    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(handle, stream.fileno())
    torch.set_num_threads(1)
