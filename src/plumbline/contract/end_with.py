"""Becomes a command that gets SIGTERM when what started it ends: `end_with.py PID COMMAND ...`.

The kernel of Linux sends it; PID is that of the starter. Elsewhere the command goes on.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # of Linux: see prctl(2); it outlives exec
TERMINATED = 143


def main() -> int:
    """Run the command in place of this process, unless the starter has ended already."""
    starter, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # It may have ended before the kernel knew, or something that wraps Python is between.
    if os.getppid() != int(starter) and not _is_running(starter):
        return TERMINATED
    os.execvp(command[0], command)  # noqa: S606  no shell is needed


def _is_running(pid: str) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


if __name__ == "__main__":
    sys.exit(main())
