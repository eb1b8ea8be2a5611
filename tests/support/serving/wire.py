"""What must be true of each answer of the server, and of its processes after many."""

import re
from dataclasses import dataclass

import psutil
from pydantic_core import from_json
from tests.support.serving.lines import Server

MAX_ERROR_BYTES = 1000


@dataclass(frozen=True)
class Got:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def check(self) -> None:
        """No failure; a refusal is short JSON that repeats nothing."""
        assert self.status // 100 in (2, 4), self
        if self.headers.get("content-type") == "application/json":
            told = from_json(self.body, allow_inf_nan=False)
        if self.headers.get("content-type", "").startswith("text/plain") and self.status == 400:
            return  # by uvicorn
        if self.status >= 400:
            assert self.headers["content-type"] == "application/json", self
            assert set(told) == {"error_code", "message", "error"}, self
            assert re.fullmatch("[A-Z_]+", told["error_code"]), self
            assert len(self.body) <= MAX_ERROR_BYTES, self
            for word in ("Traceback", 'File "'):
                assert word not in self.body.decode() + str(self.headers), self


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
