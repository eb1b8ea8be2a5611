"""SIGTERM as an exception, like Ctrl-C, and the exit codes of what both end."""

import signal
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143


class Terminated(BaseException):
    """SIGTERM, raised like Ctrl-C so that temporary files are removed on the way out."""


def raise_on_sigterm() -> None:
    """Raise Terminated on the first SIGTERM; another one does not disturb the way out."""

    def terminate(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
