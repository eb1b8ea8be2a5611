"""DVC's own lock file, and the processes that it names.

DVC writes it in place, so that a kill may cut it off, after which it never starts again; and it
takes any process with a recorded number for the one that wrote it.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from plumbline.contract.errors import BusyError
from plumbline.pipeline_run import compiling
from plumbline.pipeline_run.damaged import put_aside, report

RWLOCK = Path(".dvc/tmp/rwlock")
BESIDE = {"plumbline.tracking.background", compiling.MODULE}  # processes that are no stage


def repair_rwlock() -> None:
    """Put a lock aside that is damaged, or that only dead processes hold.

    Raises BusyError that names a process which holds it.
    """
    if not RWLOCK.exists():
        return
    content = RWLOCK.read_bytes()
    if not content:  # a full disk leaves it so
        RWLOCK.unlink()
        report(f"{RWLOCK}, a lock of DVC, was empty; it is removed")
        return
    try:
        holders = list(_list_holders(json.loads(content)))
    except (ValueError, KeyError, TypeError, AttributeError):
        aside = put_aside(RWLOCK)
        report(f"{RWLOCK}, a lock of DVC, was cut off; it is {aside} now")
        return
    written = RWLOCK.stat().st_mtime
    for pid, command in holders:
        since = _find_start(pid, command, written)
        if since is not None:
            raise BusyError(
                f"`{command}` is at work in this checkout (pid {pid} since {since}); "
                f"wait for it, or stop it: kill {pid}"
            )
    if holders:
        RWLOCK.unlink()


def terminate_stages() -> bool:
    """Send SIGTERM to the stage that DVC runs in this process; return whether there is one.

    The shell between them gets none: it would end, and the stage with it, before that has written
    its checkpoint. Nor does what is beside the stages: it brings their end to MLflow.
    """
    import psutil

    stages = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "python" in process.name() and BESIDE.isdisjoint(process.cmdline()):
                process.send_signal(signal.SIGTERM)
                stages.append(process)
    return bool(stages)


def _list_holders(lock: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for held in (*lock.get("write", {}).values(), *lock.get("read", {}).values()):
        for info in held if isinstance(held, list) else [held]:
            if info:
                yield int(info["pid"]), str(info["cmd"])


def _find_start(pid: int, command: str, written: float) -> str | None:
    """Return since when the process runs that wrote the lock; None where it is gone.

    One that started after the lock was `written`, or that does not run DVC, has its number only.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        started = process.create_time()
        words = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return "an unknown time"
    is_dvc = any(name in words for name in ("dvc", "plumbline"))
    if pid == os.getpid() or started > written + 1 or not is_dvc:
        return None
    return datetime.fromtimestamp(started).astimezone().isoformat(" ", "seconds")
