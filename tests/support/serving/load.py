"""Clients that send requests to a server without a pause while something else happens to it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

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
        body = json.dumps({"inputs": [1.0, 2.0, float(number)]}).encode()
        head = b"POST /invocations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        while not self.stop.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            except OSError:
                return  # the server does not listen any more
            try:
                while not self.stop.is_set():
                    writer.write(head % len(body) + body)
                    if not await self._read_answer(reader, number):
                        break
            except (asyncio.IncompleteReadError, ConnectionError):
                self.broken += 1
            finally:
                writer.close()

    async def _read_answer(self, reader: asyncio.StreamReader, number: int) -> bool:
        """Read one answer; whether the connection stays open."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        answer = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.statuses.append(int(lines[0].split()[1]))
        if self.statuses[-1] == 200:
            version = headers["x-plumbline-version"]
            self.versions.add(version)
            slope = SLOPES[version]
            expected = [slope + 1, 2 * slope + 1, number * slope + 1]
            self.mixed += [row["y"] for row in answer["predictions"]] != expected
        return headers.get("connection") != "close"


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
