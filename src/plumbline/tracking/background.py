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

from plumbline.tracking import delivery, spool
from plumbline.tracking.system_metrics import SystemMonitors

LOCK = "background"
PAUSE_S = 1.0
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
            process_group=0,
        )
    except OSError:
        logging.getLogger(__name__).debug("no process for tracking", exc_info=True)


def main() -> None:
    """Deliver until nothing waits and no stage is at work; return at once where another does."""
    os.nice(19)
    with (spool.locate_spool() / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        _deliver_until_idle()


def _deliver_until_idle() -> None:
    last = time.monotonic()
    monitors = SystemMonitors()
    while time.monotonic() - last < IDLE_S:
        if delivery.has_work() or spool.list_passes():
            report = delivery.deliver()
            is_away = report.problem is not None
            if not is_away:
                monitors.follow()
            if delivery.has_live_stage() or (not is_away and delivery.has_work()):
                last = time.monotonic()
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
