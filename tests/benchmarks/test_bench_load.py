"""The load generator of `make bench-serve` counts answers and measures from when one was due."""

import asyncio
import json
import time
from collections import Counter

from benchmarks.serving.load import Job, Load, Tally

SERVICE_S = 0.02
LABELS = ("right", "wrong", "busy", "broken", "cut")


def test_every_answer_is_counted_in_its_class() -> None:
    tally, done = _load(connections=8, seconds=0.5, rate=200.0)
    assert all(done[label] for label in LABELS)
    assert tally.due == sum(done.values())
    assert (tally.right, tally.wrong, tally.refused) == (done["right"], done["wrong"], done["busy"])
    assert tally.failed == done["broken"] + done["cut"]
    assert tally.unanswered == 0
    assert len(tally.took) == tally.right


def test_closed_loop_keeps_each_client_busy() -> None:
    tally, done = _load(connections=4, seconds=0.5, labels=("right",))
    # Each client may have one request before the start and one after the end.
    assert done["right"] - 2 * 4 <= tally.right <= done["right"]
    assert tally.figures()["took_ms"]["p50"] >= SERVICE_S * 1e3


def test_open_loop_counts_the_wait_for_a_server_that_is_too_slow() -> None:
    tally, _ = _load(connections=1, seconds=0.5, rate=3 / SERVICE_S, labels=("right",))
    assert tally.figures()["took_ms"]["p99"] > 10 * SERVICE_S * 1e3
    assert tally.in_time < tally.due


def test_server_that_answers_soon_has_recovered_at_once() -> None:
    tally, done = _load(
        connections=16, seconds=0.3, rate=100.0, labels=("right",), calm_rate=100.0, calm_s=1.0
    )
    assert tally.recovery_s == 0
    assert tally.due < sum(done.values())  # what comes after the measured time is not due in it
    assert tally.right == tally.due


def test_recovery_is_the_time_until_answers_come_soon_again() -> None:
    job = {"connections": 16, "seconds": 0.3, "rate": 100.0, "calm_rate": 100.0, "calm_s": 1.5}
    tally, _ = _load(labels=("right",), slow_s=0.8, soon_ms=200, **job)
    assert tally.recovery_s is not None
    assert 0.25 <= tally.recovery_s <= 1.0
    tally, _ = _load(labels=("right",), slow_s=9.0, soon_ms=200, **job)
    assert tally.recovery_s is None


def test_requests_with_a_wrong_answer_are_named() -> None:
    tally, _ = _load(connections=2, seconds=0.3, labels=("right", "wrong", "right"))
    assert tally.wrong > 0
    assert set(tally.wrong_requests) == {1}


def _load(
    labels: tuple[str, ...] = LABELS, slow_s: float = 0.0, **job: float
) -> tuple[Tally, Counter[str]]:
    """Return the tally, and how often the server answered what.

    For `slow_s` seconds the server takes 25 times as long.
    """
    done: Counter[str] = Counter()
    start = time.perf_counter()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                label = json.loads(await reader.readexactly(length))
                is_slow = time.perf_counter() - start < slow_s
                await asyncio.sleep(25 * SERVICE_S if is_slow else SERVICE_S)
                done[label] += 1
                if label == "cut":
                    break
                status = {"busy": 429, "broken": 500}.get(label, 200)
                body = json.dumps({"label": "other" if label == "wrong" else label}).encode()
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)))
                await asyncio.sleep(0)
                writer.write(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def run() -> Tally:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        asked = [(json.dumps(label), label) for label in labels]
        tally = await Load(Job(server.sockets[0].getsockname()[1], "/", asked, **job)).run()  # type: ignore[arg-type]
        server.close()
        await asyncio.sleep(2 * SERVICE_S)
        return tally

    return asyncio.run(run()), done
