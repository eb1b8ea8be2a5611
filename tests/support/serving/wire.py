"""Send bytes to the server, parse its answers, and check what must be true of each of them."""

import asyncio
import re
from dataclasses import dataclass

import psutil
from pydantic_core import from_json
from tests.support.serving.lines import Server

MAX_ERROR_BYTES = 1000
HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [ -~]*\r\n((?:[!-9;-~]+: [ -~]*\r\n)*)\r\n")


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


def parse(raw: bytes) -> tuple[list[Got], bytes]:
    """Return all complete answers in `raw`, without interim ones (100 Continue), and the rest."""
    found = []
    while match := HEAD.match(raw):
        headers = dict(line.split(": ", 1) for line in match[2].decode().lower().splitlines())
        if "content-length" not in headers and headers.get("connection") == "close":
            return [*found, Got(int(match[1]), headers, b"")], b""  # what is not HTTP, by uvicorn
        end = match.end() + int(headers.get("content-length", 0))
        if len(raw) < end:
            break
        assert "transfer-encoding" not in headers
        if int(match[1]) >= 200:
            found.append(Got(int(match[1]), headers, raw[match.end() : end]))
        raw = raw[end:]
    return found, raw


def send_all_at_once(port: int, streams: list[bytes], patience_s: float) -> list[bytes]:
    """Send each on a connection; return what comes until close or `patience_s` of silence."""

    async def one(raw: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        received = b""
        try:
            writer.write(raw)
            while part := await asyncio.wait_for(reader.read(1 << 20), patience_s):
                received += part
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
        return received

    async def gathered() -> list[bytes]:
        return await asyncio.gather(*map(one, streams))

    return asyncio.run(gathered())


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
