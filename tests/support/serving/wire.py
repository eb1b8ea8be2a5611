"""What must be true of the processes of a server after many requests."""

import psutil
from tests.support.serving.lines import Server


class Watch:
    """Watches the worker behind a server: it must stay the same process and not grow."""

    def __init__(self, server: Server) -> None:
        self._server, self._pids = server, self._workers(server)
        self._worker = psutil.Process(
            max(self._pids, key=lambda pid: psutil.Process(pid).memory_info().rss)
        )
        self._rss, self._files = self._used()

    def check(self, mib: float) -> None:
        """Check that the processes are the same, without new open files and `mib` MiB of growth."""
        assert self._workers(self._server) == self._pids
        self._server.wait(lambda: self._used()[1] <= self._files + 2)
        grown = (self._used()[0] - self._rss) / (1 << 20)
        assert grown <= mib, f"{grown:.1f} MiB more memory"

    def _used(self) -> tuple[int, int]:
        return self._worker.memory_info().rss, self._worker.num_fds()

    @staticmethod
    def _workers(server: Server) -> set[int]:
        return {child.pid for child in psutil.Process(server.process.pid).children(recursive=True)}
