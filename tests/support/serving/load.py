"""Clients that send requests to a server without a pause, and a look at its processes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import httpx2
import psutil
from tests.support.serving.lines import SLOPES, Lines, Server

from plumbline.registry import promotion
from plumbline.registry.journal import Entry


class Load:
    """Clients that each send one request after another on one connection, and count answers."""

    def __init__(self, server: Server, num_clients: int) -> None:
        self.server, self.num_clients = server, num_clients
        self.statuses: list[int] = []
        self.mixed = 0
        self.broken = 0  # connections that ended while an answer was due
        self.versions: set[str] = set()
        self.stop = Event()

    async def run(self) -> None:
        await asyncio.gather(*(self._client(number) for number in range(self.num_clients)))

    async def _client(self, number: int) -> None:
        address = f"http://127.0.0.1:{self.server.port}"
        async with httpx2.AsyncClient(base_url=address, timeout=None, trust_env=False) as client:
            while not self.stop.is_set():
                try:
                    await self._ask(client, number)
                except httpx2.ConnectError:
                    return  # the server does not listen any more
                except httpx2.TransportError:
                    self.broken += 1

    async def _ask(self, client: httpx2.AsyncClient, number: int) -> None:
        answer = await client.post("/invocations", json={"inputs": [1.0, 2.0, float(number)]})
        self.statuses.append(answer.status_code)
        if answer.status_code == 200:
            version = answer.headers["x-plumbline-version"]
            self.versions.add(version)
            slope = SLOPES[version]
            expected = [slope + 1, 2 * slope + 1, number * slope + 1]
            self.mixed += [row["y"] for row in answer.json()["predictions"]] != expected


@contextmanager
def loaded(server: Server, num_clients: int = 16) -> Iterator[Load]:
    """Clients at work while the block runs."""
    load = Load(server, num_clients)
    thread = Thread(target=lambda: asyncio.run(load.run()))
    thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        thread.join()


def read_version(server: Server) -> str:
    """The version that answers a request."""
    return server.predict(1.0)[1]["x-plumbline-version"]


def read_history(lines: Lines) -> list[Entry]:
    """The decisions on the line."""
    with lines.here():
        return promotion.read_history("line")


def list_workers(pid: int) -> list[str]:
    """The workers of a server: its children that are not a resource tracker."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if any("spawn_main" in word for word in child.cmdline()):
                found.append(str(child.pid))
    return found


class Watch:
    """Watches the processes of a server: they must stay the same and not grow."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._processes = self._find()
        self._worker = max(self._processes, key=lambda process: process.memory_info().rss)
        self._rss, self._files = self._worker.memory_info().rss, self._worker.num_fds()

    def check(self, mib: float) -> None:
        """Check that the processes are the same, without new open files and `mib` MiB of growth."""
        assert self._find() == self._processes
        self._server.wait(lambda: self._worker.num_fds() <= self._files + 2)
        grown = (self._worker.memory_info().rss - self._rss) / (1 << 20)
        assert grown <= mib, f"{grown:.1f} MiB more memory"

    def _find(self) -> set[psutil.Process]:
        return set(psutil.Process(self._server.process.pid).children(recursive=True))
