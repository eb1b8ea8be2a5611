"""What a worker leaves for the next one: whether the canary may be put into service again."""

import os
from pathlib import Path

from plumbline.contract.errors import ParamsError

RETURNED = "returned"


class CanaryMark:
    """A file in the folder that the workers of one server share, with the worker that has a canary.

    A canary that was returned, or whose worker ended without shutting down, stays marked: the next
    worker would meet the same. A worker that still runs is being replaced, and hands the canary on.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "canary.worker" if folder else None

    def set(self, version: str) -> None:
        """Mark the canary as this worker's; ParamsError where it must not be served again."""
        if self._path is None:
            return
        content = self._read()
        if content == RETURNED:
            reason = "it was returned"
        elif content and not _is_running(int(content)):
            reason = "its worker ended without shutting down; start the server again to try it"
        else:
            self._path.write_text(str(os.getpid()), encoding="utf-8")
            return
        raise ParamsError(f"--canary {version}: {reason}")

    def set_returned(self) -> None:
        """Mark the canary as returned, whether or not the journal can be written yet."""
        if self._path:
            self._path.write_text(RETURNED, encoding="utf-8")

    def remove(self) -> None:
        """Remove the mark, if it is this worker's."""
        if self._path and self._read() == str(os.getpid()):
            self._path.unlink()

    def _read(self) -> str:
        if self._path and self._path.exists():
            return self._path.read_text(encoding="utf-8")
        return ""


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
