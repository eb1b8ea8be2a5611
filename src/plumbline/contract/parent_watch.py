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
from collections.abc import Mapping
from typing import TYPE_CHECKING

from plumbline.contract.errors import PlumblineError

if TYPE_CHECKING:
    from psutil import Process

DVC_STAGE = "DVC_STAGE"  # which DVC sets for what it starts, and what that starts
RANK = "RANK"  # so does torchrun
PR_SET_PDEATHSIG = 1  # of Linux: see prctl(2)
PAUSE_S = 0.5
_parents: list["Process"] = []


def end_with_parents() -> None:
    """Let this process be killed as soon as DVC, a launcher, or what is between, ends.

    On Linux the kernel does so for the direct parent. A thread looks at all of them, everywhere.
    """
    if not _has_starter(os.environ):
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
    return all(map(_is_alive, _parents))


def require_parents() -> None:
    """Raise PlumblineError where one of them ended: whoever waits for the result is gone."""
    if not has_parents():
        raise PlumblineError("the process that started this stage has ended; nothing was published")


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    import psutil

    try:
        return _is_alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def _find_parents() -> list["Process"]:
    """Return the processes from this one's parent up to DVC, or to the stage or torchrun above.

    None of these has the variable that it sets. A process that does not show its variables, such as
    a shell on macOS, is between.
    """
    import psutil

    parents = []
    for parent in psutil.Process().parents():
        parents.append(parent)
        try:
            if not _has_starter(parent.environ()):
                break
        except psutil.Error:
            continue
    return parents


def _is_alive(process: "Process") -> bool:
    """Whether a process runs; a zombie, which its own parent has not asked yet, does not."""
    import psutil

    try:
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _has_starter(environment: Mapping[str, str]) -> bool:
    """Whether a process with these variables was started by one that it has to end with."""
    return any(name in environment for name in (DVC_STAGE, RANK))


def _watch() -> None:
    while has_parents():
        time.sleep(PAUSE_S)
    os.kill(os.getpid(), signal.SIGKILL)
