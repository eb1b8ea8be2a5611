"""Load an HTTP server at little CPU cost per request: it shares the cores with the server.

    python benchmarks/serving/load.py < job.json

reads a `Job` and prints the figures of a `Tally`, both as JSON.
"""

import asyncio
import json
import random
import resource
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

HEAD_END, LENGTH = b"\r\n\r\n", b"\r\ncontent-length:"
REFUSALS = (429, 503)
CONNECT_S = 20.0
RECONNECT_S = 0.02
LATE_S = 3.0  # how long an open loop waits for late answers
WINDOW_S = 0.25  # of the time after an overload,
RECOVERED = 0.9  # in which this share of the requests has to be answered right and soon
KEPT_WRONG = 50  # requests with a wrong answer that are named


@dataclass(frozen=True)
class Job:
    """What to send, and how; with a `rate` the loop is open, without one it is closed."""

    port: int
    path: str
    asked: list[tuple[str, str]]  # a request's body, and the label that is the right answer to it
    connections: int
    seconds: float
    warm_up: float = 0.0  # seconds before the measured time
    # Arrivals per second, at random times (Poisson); latency counts from when a request was due.
    rate: float = 0.0
    # After an open loop: arrivals at another rate, for so long, that show how a server recovers.
    calm_rate: float = 0.0
    calm_s: float = 0.0
    soon_ms: float = float("inf")  # a server that has recovered answers within


@dataclass
class Tally:
    """The answers in the measured time: how many, and how many milliseconds they took."""

    right: int = 0
    wrong: int = 0
    refused: int = 0
    failed: int = 0  # another status, or a connection that broke
    unanswered: int = 0  # open loop: not answered LATE_S after the end
    due: int = 0
    sent: int = 0  # also before and after the measured time
    in_time: int = 0  # right answers that came in the measured time
    seconds: float = 0.0
    cpu_us: float = 0.0  # of this program, a request
    took: list[float] = field(default_factory=list)
    took_refused: list[float] = field(default_factory=list)
    sent_late: list[float] = field(default_factory=list)
    example: str = ""  # the first answer that was not right
    wrong_requests: list[int] = field(default_factory=list)  # their places in `asked`
    recovery_s: float | None = None  # after the overload; None where it was not seen

    def figures(self) -> dict[str, Any]:
        """The counts, and of each series its p50 and p99."""
        series = ("took", "took_refused", "sent_late")
        counts = {name: value for name, value in asdict(self).items() if name not in series}
        return counts | {f"{name}_ms": _percentiles(getattr(self, name)) for name in series}


class Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request in progress."""

    def __init__(self, load: "Load") -> None:
        self.load, self.transport, self.data = load, None, b""
        self.started, self.asked, self.expected, self.busy = 0.0, 0, (b"",), False

    def connection_made(self, transport: Any) -> None:
        """The load may use it."""
        self.transport = transport
        self.load.connections.add(self)
        self.load.idle(self)

    def send(self, due: float) -> None:
        """Send the next request, which was due at `due`."""
        self.asked, request, self.expected = self.load.next_request()
        self.started, self.busy, self.data = due, True, b""
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Gather an answer; when it is whole, count it."""
        data = self.data = self.data + data if self.data else data
        end = data.find(HEAD_END)
        if end < 0:
            return
        head = data[:end].lower()
        at = head.find(LENGTH) + len(LENGTH)
        if at < len(LENGTH):
            self.load.count(
                self, 0, data
            )  # no length, no keep-alive: none of the servers answers so
            self.transport.close()
            return
        stop = head.find(b"\r\n", at)
        if len(data) - end - 4 >= int(head[at : stop if stop > 0 else end]):
            self.load.count(self, int(data[9:12]), data[end + 4 :])

    def connection_lost(self, error: Exception | None) -> None:
        """Count a request in progress as failed, and connect again."""
        if self.busy and self.load.running:
            self.load.count(self, 0, repr(error).encode(), alive=False)
        self.load.lost(self)


class Load:
    """All connections of one job, and the tally."""

    def __init__(self, job: Job) -> None:
        self.job, self.tally, self.random = job, Tally(), random.Random(7)
        self._requests = [(_request(job, body), spell_label(label)) for body, label in job.asked]
        self.connections: set[Connection] = set()
        self._num_sent = 0
        self._idle: deque[Connection] = deque()
        self._due: deque[float] = deque()
        self._in_progress = 0
        self._calm: list[
            tuple[float, bool]
        ] = []  # when a request was due, and whether it went well
        self._start = self._end = float("inf")
        self.running = True

    async def run(self) -> Tally:
        """Load the server for the time of the job."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_S):
            await asyncio.gather(*(self._connect() for _ in range(self.job.connections)))
        now = time.perf_counter()
        self._start, self._end = now + self.job.warm_up, now + self.job.warm_up + self.job.seconds
        before = _cpu_s()
        await (self._run_open_loop() if self.job.rate else self._run_closed_loop())
        self.running = False
        for connection in self.connections:
            connection.transport.abort()
        self.tally.sent = self._num_sent
        self.tally.cpu_us = (_cpu_s() - before) / max(1, self._num_sent) * 1e6
        self.tally.seconds = self.job.seconds
        return self.tally

    def next_request(self) -> tuple[int, bytes, tuple[bytes, ...]]:
        """The next request: its place in `asked`, its bytes, the labels that count as right."""
        self._num_sent += 1
        self._in_progress += 1
        place = self._num_sent % len(self._requests)
        return place, *self._requests[place]

    def idle(self, connection: Connection) -> None:
        """`connection` can take a request: one that waits, in closed loop at once."""
        if not self.job.rate and self.running and time.perf_counter() < self._end:
            connection.send(time.perf_counter())
        elif self._due:
            connection.send(self._due.popleft())
        else:
            self._idle.append(connection)

    def lost(self, connection: Connection) -> None:
        """`connection` is closed; open another."""
        self.connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self.running:
            self._loop.call_later(RECONNECT_S, lambda: self._loop.create_task(self._connect()))

    def count(self, connection: Connection, status: int, body: bytes, alive: bool = True) -> None:
        """Count an answer if it came (closed loop) or was due (open loop) in the measured time."""
        now = time.perf_counter()
        due = connection.started
        tally = self.tally
        connection.busy = False
        self._in_progress -= 1
        right = status == 200 and is_right(body, connection.expected)
        came = self._start <= now <= self._end
        tally.in_time += right and came
        if self.job.rate and due > self._end:
            self._calm.append((due, right and (now - due) * 1e3 <= self.job.soon_ms))
        elif came if not self.job.rate else due >= self._start:
            if right:
                tally.right += 1
                tally.took.append((now - due) * 1e3)
            elif status in REFUSALS:
                tally.refused += 1
                tally.took_refused.append((now - due) * 1e3)
            else:
                tally.wrong += status == 200
                tally.failed += status != 200
                if status == 200 and len(tally.wrong_requests) < KEPT_WRONG:
                    tally.wrong_requests.append(connection.asked)
                tally.example = tally.example or f"{status} {body[:200].decode(errors='replace')}"
        if alive and not connection.transport.is_closing():
            self.idle(connection)

    async def _connect(self) -> None:
        while self.running:
            try:
                await self._loop.create_connection(
                    lambda: Connection(self), "127.0.0.1", self.job.port
                )
            except OSError:
                await asyncio.sleep(RECONNECT_S)
            else:
                return

    async def _run_closed_loop(self) -> None:
        while self._idle:
            self.idle(self._idle.popleft())
        await asyncio.sleep(self._end - time.perf_counter())

    async def _run_open_loop(self) -> None:
        """Send the requests of the measured time, then, where the job has them, those after it."""
        job = self.job
        self.tally.due = await self._send_when_due(job.rate, time.perf_counter(), self._end)
        if job.calm_s:
            self.tally.unanswered = len(self._due)
            self._due.clear()  # who has waited for a connection until now gives up
            await self._send_when_due(job.calm_rate, self._end, self._end + job.calm_s)
        limit = self._end + job.calm_s + LATE_S
        while (self._due or self._in_progress) and time.perf_counter() < limit:
            await asyncio.sleep(0.01)
        waiting = [*self._due, *(one.started for one in self.connections if one.busy)]
        self.tally.unanswered += sum(due <= self._end for due in waiting)
        if job.calm_s:
            self._calm += [(due, False) for due in waiting if due > self._end]
            self.tally.recovery_s = self._measure_recovery()

    async def _send_when_due(self, rate: float, start: float, end: float) -> int:
        """Send each request when it is due or, if no connection is free then, as soon as one is.

        Returns how many were due in the measured time or after it.
        """
        num_due, due = 0, start
        while (due := due + self.random.expovariate(rate)) < end:
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            num_due += due >= self._start
            if self._idle:
                self.tally.sent_late.append((time.perf_counter() - due) * 1e3)
                self._idle.popleft().send(due)
            else:
                self._due.append(due)
                await asyncio.sleep(0)
        return num_due

    def _measure_recovery(self) -> float | None:
        """Return the seconds from the overload's end to the end of the last bad window after it."""
        windows: dict[int, list[bool]] = {}
        for due, is_good in self._calm:
            windows.setdefault(int((due - self._end) / WINDOW_S), []).append(is_good)
        bad = [at for at, good in windows.items() if sum(good) < RECOVERED * len(good)]
        last = max(windows, default=0)
        if not windows or last in bad:
            return None
        return (max(bad) + 1) * WINDOW_S if bad else 0.0


def _request(job: Job, body: str) -> bytes:
    content = body.encode()
    head = f"POST {job.path} HTTP/1.1\r\nHost: 127.0.0.1:{job.port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def spell_label(label: str) -> tuple[bytes, ...]:
    """Return the label as JSON has it, with and without escapes."""
    return json.dumps(label).encode(), json.dumps(label, ensure_ascii=False).encode()


def is_right(body: bytes, labels: tuple[bytes, ...]) -> bool:
    """Whether the first label in a JSON answer is right: every server lists the best one first."""
    at = body.find(b'"label":')
    return at >= 0 and body[at + 8 : at + 400].lstrip().startswith(labels)


def _percentiles(values: list[float]) -> dict[str, float] | None:
    ordered = sorted(values)
    if not ordered:
        return None
    return {
        name: ordered[min(len(ordered) - 1, int(len(ordered) * p))]
        for name, p in (("p50", 0.5), ("p99", 0.99))
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read a job from standard input, run it, print its figures."""
    import uvloop

    tally = uvloop.run(Load(Job(**json.load(sys.stdin))).run())
    print(json.dumps(tally.figures()))


if __name__ == "__main__":
    main()
