"""The event loop has right of way over the threads that compute: it needs little, and at once."""

import os
import sys
import threading
from contextlib import suppress

# Of niceness: beside the event loop, a thread that computes gets a third as much of a core.
STEPS = 5
MAX_NICE = 19
SWITCH_S = 0.001  # how long a thread keeps the interpreter while another waits for it


def lower_thread_priority() -> None:
    """Lower the priority of the calling thread, and of the threads that it starts, on Linux.

    Elsewhere a priority belongs to the whole process, and nothing is changed.
    """
    if sys.platform != "linux":
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # a sandbox may forbid it; the model answers all the same
        niceness = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(MAX_NICE, niceness + STEPS))


def shorten_switch_interval() -> None:
    """Let threads of this process take turns five times as often as Python does by default."""
    sys.setswitchinterval(SWITCH_S)
