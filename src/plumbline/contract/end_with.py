"""Becomes a command that gets SIGTERM when what started it ends: `end_with.py PID COMMAND ...`.

The kernel of Linux sends it; PID is that of the starter. Elsewhere the command goes on.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of Linux: see prctl(2); it outlives exec
TERMINATED = 143


def main() -> int:
    """Run the command in place of this process, unless the starter has ended already."""
    starter, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(starter):  # it ended before the kernel knew
        return TERMINATED
    os.execvp(command[0], command)  # noqa: S606  no shell is needed


if __name__ == "__main__":
    sys.exit(main())
