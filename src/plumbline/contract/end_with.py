"""Becomes a command that gets SIGTERM when what started it ends: `end_with.py PID COMMAND ...`.

The kernel of Linux sends it; PID is that of the starter. Elsewhere the command goes on.
"""

import ctypes
import os
import signal
import sys

from plumbline.contract.parent_watch import PR_SET_PDEATHSIG, is_running
from plumbline.contract.stop_signals import TERMINATED


def main() -> int:
    """Run the command in place of this process, unless the starter has ended already."""
    starter, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # it outlives exec
    # It may have ended before the kernel knew, or something that wraps Python is between.
    if os.getppid() != int(starter) and not is_running(int(starter)):
        return TERMINATED
    os.execvp(command[0], command)  # noqa: S606  no shell is needed


if __name__ == "__main__":
    sys.exit(main())
