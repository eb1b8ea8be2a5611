"""A stage ends with the process that started it, and publishes nothing after that.

DVC that is killed leaves its stage running. The next run would restore outputs beside it, and what
the first one then wrote would be recorded as the result of other parameters.
"""

import ctypes
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from plumbline.contract.errors import PlumblineError

if TYPE_CHECKING:
    from psutil import Process

DVC_STAGE = "DVC_STAGE"  # which DVC sets for what it starts, and what that starts
PR_SET_PDEATHSIG = 1  # of Linux: see prctl(2)
PAUSE_S = 0.5
_parents: list["Process"] = []


def end_with_parents() -> None:
    """Let this process be killed as soon as DVC, or what is between, ends; nothing without DVC.

    On Linux the kernel does so for the direct parent. A thread looks at all of them, everywhere.
    """
    if DVC_STAGE not in os.environ:
        return
    _parents[:] = _find_parents()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if not has_parents():  # one of them ended before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Thread(target=_watch, name="parents", daemon=True).start()


def has_parents() -> bool:
    """Whether all processes that this one shall end with are there."""
    if _parents and os.getppid() != _parents[0].pid:
        return False
    return all(parent.is_running() for parent in _parents)


def require_parents() -> None:
    """Raise PlumblineError where one of them ended: whoever waits for the result is gone."""
    if not has_parents():
        raise PlumblineError("the process that started this stage has ended; nothing was published")


def _find_parents() -> list["Process"]:
    """Return the processes from this one's parent up to DVC, which does not have its own variable.

    A process that does not show its variables, such as a shell on macOS, is between.
    """
    import psutil

    found = []
    for parent in psutil.Process().parents():
        found.append(parent)
        try:
            if DVC_STAGE not in parent.environ():
                break
        except psutil.Error:
            continue
    return found


def _watch() -> None:
    while has_parents():
        time.sleep(PAUSE_S)
    os.kill(os.getpid(), signal.SIGKILL)
