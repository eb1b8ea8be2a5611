"""Clients that send requests to a server without a pause while something else happens to it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx2
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
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in found if b"spawn_main" in _read_command(child)]


def _read_command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return b""
