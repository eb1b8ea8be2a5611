"""A process beside the stages that brings their runs to MLflow, so that no stage waits for it.

It lives until nothing waits, has the lowest priority, and belongs to nobody: Ctrl-C in a training
does not reach it, so it can say in MLflow that the training was killed.
"""

import fcntl
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from plumbline.tracking import delivery, spool, store_location
from plumbline.tracking.system_metrics import SystemMonitors

LOCK = "background"
PAUSE_S = 1.0
LIVE_PAUSE_S = 5.0  # while a stage is at work, which shares the cores with this process
WAIT_PAUSE_S = 0.2
IDLE_S = 10.0  # that it waits for the next stage, or for an unreachable server


def start() -> None:
    """Start the process, if none is at work; this returns at once and raises nothing."""
    try:
        spool.locate_spool().mkdir(parents=True, exist_ok=True)
        subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "plumbline.tracking.background"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=store_location.find_home(),  # DVC removes the folder of an experiment
            process_group=0,
        )
    except OSError:
        logging.getLogger(__name__).debug("no process for tracking", exc_info=True)


def wait(timeout_s: float) -> None:
    """Wait until MLflow has what the stages of this folder logged, or cannot be reached."""
    until = time.monotonic() + timeout_s
    if store_location.find_problem() is not None:
        return
    while time.monotonic() < until and delivery.is_waiting(Path.cwd().resolve()):
        time.sleep(WAIT_PAUSE_S)


def is_at_work() -> bool:
    """Whether a process is delivering: what MLflow says of a run in the spool is not final."""
    try:
        with (spool.locate_spool() / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no stage ever ran here
    return False


def main() -> None:
    """Deliver until nothing waits and no stage is at work; return where another process does."""
    os.nice(19)
    with (spool.locate_spool() / LOCK).open("a") as file:
        if not _take_turn(file):
            return
        _deliver_until_idle()


def _take_turn(file: IO[str]) -> bool:
    """Take the lock; return False if another process keeps it.

    One that is about to end has looked for work for the last time, and would leave this stage's
    undone: it is given time to end.
    """
    until = time.monotonic() + IDLE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)
        else:
            return True


def _deliver_until_idle() -> None:
    last = time.monotonic()
    next_live = last
    monitors = SystemMonitors()
    while time.monotonic() - last < IDLE_S:
        try:
            if time.monotonic() < next_live and delivery.has_live_stage():
                last = time.monotonic()
            elif _deliver_once(monitors):
                last = time.monotonic()
                next_live = last + LIVE_PAUSE_S
        except Exception:  # a stage may remove a pass that is being read; the next turn sees it
            logging.getLogger(__name__).debug("tracking: one turn failed", exc_info=True)
        time.sleep(PAUSE_S)


def _deliver_once(monitors: SystemMonitors) -> bool:
    """Bring what waits to MLflow; return whether there is more to come."""
    if not spool.list_passes():
        return False
    report = delivery.deliver()
    if store_location.find_problem() is None:
        monitors.follow()
    return delivery.has_live_stage() or (report.problem is None and delivery.has_work())


if __name__ == "__main__":
    main()
