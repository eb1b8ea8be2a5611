"""Load an HTTP server at little CPU cost per request: it shares the cores with the server.

    python benchmarks/serving/load.py < job.json

reads a `Job` and prints a `Tally`, both as JSON.
"""

import asyncio
import itertools
import json
import random
import sys
import time
from dataclasses import asdict, dataclass

REFUSALS = (429, 503)
CONNECT_S = 20.0
LATE_S = 3.0  # how long an open loop waits for late answers

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


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


@dataclass
class Tally:
    """Answers that came (closed loop) or were due (open loop) in the measured time."""

    seconds: float
    right: int = 0
    wrong: int = 0
    refused: int = 0
    failed: int = 0  # another status, or a connection that broke
    unanswered: int = 0  # open loop: not answered LATE_S after the end
    in_time: int = 0  # right answers that came in the measured time
    sent: int = 0  # also before and after the measured time
    p50_ms: float = float("nan")  # of the right answers
    p99_ms: float = float("nan")


class Load:
    """The clients of one job, and the tally."""

    def __init__(self, job: Job) -> None:
        self.job, self.tally = job, Tally(job.seconds)
        requests = [(_write_request(job, body), spell_label(label)) for body, label in job.asked]
        self._requests = itertools.cycle(requests)
        self._due: asyncio.Queue[float] = asyncio.Queue()
        self._took_ms: list[float] = []

    async def run(self) -> Tally:
        """Load the server for the time of the job."""
        job, tally = self.job, self.tally
        async with asyncio.timeout(CONNECT_S):
            streams = [await self._connect() for _ in range(job.connections)]
        self._start = time.perf_counter() + job.warm_up
        self._end = self._start + job.seconds
        clients = [asyncio.create_task(self._send_requests(stream)) for stream in streams]
        num_due = await self._queue_requests() if job.rate else 0
        left = self._end - time.perf_counter() + (LATE_S if job.rate else 0.0)
        await asyncio.wait(clients, timeout=left)
        for client in clients:
            client.cancel()
        counted = tally.right + tally.wrong + tally.refused + tally.failed
        tally.unanswered = max(0, num_due - counted)
        ordered = sorted(self._took_ms)
        if ordered:
            tally.p50_ms, tally.p99_ms = (ordered[int(len(ordered) * p)] for p in (0.5, 0.99))
        return tally

    async def _connect(self) -> Stream:
        return await asyncio.open_connection("127.0.0.1", self.job.port)

    async def _queue_requests(self) -> int:
        """Queue each request when it is due; return how many were in the measured time."""
        draw, due, num_due = random.Random(7), time.perf_counter(), 0
        while (due := due + draw.expovariate(self.job.rate)) < self._end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            self._due.put_nowait(due)
            num_due += due >= self._start
        return num_due

    async def _send_requests(self, stream: Stream | None) -> None:
        """Send one request after another; open another connection where one breaks."""
        while self.job.rate or time.perf_counter() < self._end:
            due = await self._due.get() if self.job.rate else time.perf_counter()
            request, labels = next(self._requests)
            self.tally.sent += 1
            try:
                if stream is None or stream[0].at_eof():
                    stream = await self._connect()
                stream[1].write(request)
                status, body = await _read_answer(stream[0])
            except (OSError, asyncio.IncompleteReadError):
                status, body, stream = 0, b"", None
            self._count(due, status, status == 200 and is_right(body, labels))

    def _count(self, due: float, status: int, right: bool) -> None:
        now, tally = time.perf_counter(), self.tally
        came = self._start <= now <= self._end
        tally.in_time += right and came
        if not (due >= self._start if self.job.rate else came):
            return
        if right:
            tally.right += 1
            self._took_ms.append((now - due) * 1e3)
        elif status in REFUSALS:
            tally.refused += 1
        else:
            tally.wrong += status == 200
            tally.failed += status != 200


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    return int(head[9:12]), await reader.readexactly(int(length))


def _write_request(job: Job, body: str) -> bytes:
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


def main() -> None:
    """Read a job from standard input, run it, print its figures."""
    import uvloop

    print(json.dumps(asdict(uvloop.run(Load(Job(**json.load(sys.stdin))).run()))))


if __name__ == "__main__":
    main()
