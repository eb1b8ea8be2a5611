"""Kernel locks on a checkout: one stage at a time, and one run around all its stages.

The kernel releases them however their process ends.
"""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from plumbline.contract.errors import BusyError
from plumbline.process.locks import hold

STAGE_LOCK = Path(".plumbline/lock")
RUN_LOCK = Path(".plumbline/run.lock")
STILL_RUNNING = "another stage is running here"  # perhaps one of a run that was killed
RUN_ID = "PLUMBLINE_RUN"  # the variable by which a stage knows the run that started it


@contextmanager
def lock_run() -> Iterator[None]:
    """Hold the checkout for a run; raises BusyError where another run, or a stage, holds it."""
    with _open_lock(RUN_LOCK) as file:
        _acquire(file, "another run is at work here")
        with _open_lock(STAGE_LOCK) as stage:  # of a run that was killed just now
            _acquire(stage, STILL_RUNNING)
        os.environ[RUN_ID] = secrets.token_hex(8)
        _describe_holder(file, "plumbline run", f", id {os.environ[RUN_ID]}")
        try:
            yield
        finally:
            file.truncate(0)
            del os.environ[RUN_ID]


@contextmanager
def lock_stage(stage: str) -> Iterator[None]:
    """Hold the checkout for a stage, which is part of its run, if a run started it.

    Raises BusyError where another stage or run holds it.
    """
    with _open_lock(RUN_LOCK) as run, _open_lock(STAGE_LOCK) as file:
        if not _is_part_of(run):
            _acquire(run, "another run is at work here")
            _describe_holder(run, stage)
        _acquire(file, STILL_RUNNING)
        _describe_holder(file, stage)
        yield


def _open_lock(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+", encoding="utf-8")


def _acquire(file: TextIO, title: str) -> None:
    if not hold(file, wait=False):
        holder = _read_holder(file).partition(", id ")[0] or "which has not said its name yet"
        raise BusyError(f"{title} ({holder}); wait for it or stop it")


def _is_part_of(run: TextIO) -> bool:
    """Whether the run that holds the lock is the one that started this process."""
    own = os.environ.get(RUN_ID)
    return own is not None and _read_holder(run).endswith(f", id {own}")


def _read_holder(file: TextIO) -> str:
    file.seek(0)
    return file.read().strip()


def _describe_holder(file: TextIO, name: str, rest: str = "") -> None:
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    file.truncate(0)
    file.write(f"{name}, pid {os.getpid()} on {socket.gethostname()} since {since}{rest}")
    file.flush()
