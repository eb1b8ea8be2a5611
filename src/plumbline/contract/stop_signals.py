"""Ctrl-C and SIGTERM as exceptions, and the exit codes of what they end."""

import signal
import sys
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
RAISE_AGAIN_S = 0.05


class Terminated(BaseException):
    """SIGTERM, raised like Ctrl-C so that temporary files are removed on the way out."""


def raise_on_signals() -> None:
    """Raise Terminated on SIGTERM, and raise both it and Ctrl-C again if a callback dropped them.

    Python reports an exception in a callback, such as __del__, and then drops it.
    """

    def terminate(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    def raise_dropped(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, Terminated | KeyboardInterrupt):
            sys.__unraisablehook__(dropped)
            return
        kind = dropped.exc_type

        def raise_again(signum: int, frame: FrameType | None) -> None:
            raise kind

        signal.signal(signal.SIGALRM, raise_again)
        signal.setitimer(signal.ITIMER_REAL, RAISE_AGAIN_S)

    signal.signal(signal.SIGTERM, terminate)
    sys.unraisablehook = raise_dropped
