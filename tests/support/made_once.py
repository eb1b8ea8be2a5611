"""What takes seconds to make and no test changes: made once for all processes that run tests."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def make_once(
    factory: pytest.TempPathFactory, worker_id: str, name: str, make: Callable[[Path], object]
) -> Path:
    """Return the folder `name` of this run, which the first process that asks lets `make` fill."""
    base = factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name
    folder.mkdir(exist_ok=True)
    made = folder.with_suffix(".made")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(folder)
            made.touch()
    return folder
