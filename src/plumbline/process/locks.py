"""Locks of the kernel on open files: they end with the process that holds one, however it ends."""

import fcntl
from typing import IO, Any


def hold(file: int | IO[Any], *, wait: bool = True) -> bool:
    """Lock an open file until it is closed; return whether this process holds it now.

    `wait`: until nobody else holds it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
