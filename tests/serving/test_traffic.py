"""Versions that change under load: hot swaps, canaries, shadows, registry outages, shutdown."""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pyarrow.parquet as pq
import pytest
from tests.support.serving.lines import MOODY, SLOPES, Lines, Server, serving
from tests.support.serving.moody import GO_FILE, RAISES, SLOWER, WAITS, WAITS_FILE, Moody

from plumbline.registry import promotion
from plumbline.registry.journal import Entry
from plumbline.serving.batching import Batcher
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.server import START_S
from plumbline.serving.settings import Canary, Limits
from plumbline.serving.trial import Sprt, Trial

ANY_SPEED = ("--max-slowdown", "1000")  # this machine may be busy now and then
# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")


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


def swaps(lines: Lines, count: int) -> Load:
    with serving(lines, "--poll-s", "0.2") as server, loaded(server) as load:
        for number in range(count):
            version = "2" if number % 2 == 0 else "1"
            lines.champion(version)
            server.wait(lambda version=version: _version(server) == version)
        assert server.metric('plumbline_swaps_total{outcome="done"}') == count
    return load


def test_hot_swaps_under_load(lines: Lines) -> None:
    load = swaps(lines, 4)
    assert set(load.statuses) == {200}
    assert (load.mixed, load.broken, load.versions) == (0, 0, {"1", "2"})


@pytest.mark.slow
def test_fifty_hot_swaps_under_load(lines: Lines) -> None:
    load = swaps(lines, 50)
    assert set(load.statuses) == {200}
    assert (load.mixed, load.broken, load.versions) == (0, 0, {"1", "2"})


def test_if_a_version_is_not_what_was_registered_the_old_one_keeps_serving(lines: Lines) -> None:
    with serving(lines, "--poll-s", "0.2") as server:
        with lines.here():
            from plumbline.tracking import mlflow_client

            # outside plumbline, without a journal entry
            mlflow_client.connect().set_registered_model_alias("line", "champion", "2")
        try:
            server.wait(lambda: server.metric("plumbline_swaps_total") > 0)
            assert _version(server) == "1"
            assert "line version 1 keeps serving" in server.log.read_text()
        finally:
            with lines.here():
                mlflow_client.connect().set_registered_model_alias("line", "champion", "1")


def test_it_starts_and_keeps_serving_without_a_registry(lines: Lines, tmp_path: Path) -> None:
    mlruns = lines.folder / "mlruns"
    with serving(lines, "--poll-s", "0.2") as server:
        mlruns.rename(tmp_path / "away")
        try:
            server.wait(lambda: server.metric("plumbline_registry_up ") == 0)
            assert server.predict(1.0)[0] == 200
            assert server.stop() == 0
            shutil.rmtree(mlruns, ignore_errors=True)
            with serving(lines) as again:
                assert again.predict(1.0)[2] == {"predictions": [{"y": 3.0}]}
                assert "the local copy of version 1 is used instead" in again.log.read_text()
        finally:
            shutil.rmtree(mlruns, ignore_errors=True)
            (tmp_path / "away").rename(mlruns)


def test_a_version_that_differs_from_its_evaluation_never_serves(
    lines: Lines, tmp_path: Path
) -> None:
    mlruns = lines.folder / "mlruns"
    with serving(lines, "--poll-s", "0.2", LINE_ELSEWHERE="1") as server:
        lines.champion(MOODY)
        server.wait(lambda: "answer to golden row 0 (y) differs" in server.log.read_text())
        assert _version(server) == "1"
    mlruns.rename(tmp_path / "away")
    try:
        with serving(lines) as again:
            assert _version(again) == "1"  # the last that answered, not the last that was named
    finally:
        shutil.rmtree(mlruns, ignore_errors=True)
        (tmp_path / "away").rename(mlruns)


def test_a_worker_restarted_under_an_unfit_champion_stops_no_other(lines: Lines) -> None:
    with serving(lines, "--poll-s", "0.2", "--workers", "2", LINE_ELSEWHERE="1") as server:
        lines.champion(MOODY)
        server.wait(lambda: "answer to golden row 0 (y) differs" in server.log.read_text())
        killed = _children(server.process.pid)[0]
        os.kill(int(killed), signal.SIGKILL)
        server.wait(lambda: len(set(_children(server.process.pid)) - {killed}) == 2)
        server.wait(lambda: "which served last, keeps serving" in server.log.read_text())
        assert {_version(server) for _ in range(20)} == {"1"}
        assert len(_children(server.process.pid)) == 2


def test_a_worker_that_dies_during_its_health_check_is_replaced_at_once(
    lines: Lines,
) -> None:
    with serving(lines) as server:
        (worker,) = _children(server.process.pid)
        os.kill(int(worker), signal.SIGSTOP)
        time.sleep(1.5)  # it is asked every half second
        os.kill(int(worker), signal.SIGKILL)
        server.wait(lambda: set(_children(server.process.pid)) - {worker}, START_S / 2)


def test_a_bad_canary_is_returned_with_a_journal_entry(lines: Lines) -> None:
    with serving(lines, "--canary", "2=50%", *ANY_SPEED) as server, loaded(server, 4) as load:
        server.wait(lambda: "is returned" in server.log.read_text())
        after = len(load.statuses)
        server.wait(lambda: len(load.statuses) > after + 50)
        load.versions.clear()
        server.wait(lambda: len(load.statuses) > after + 200)
        assert load.versions == {"1"}
    assert set(load.statuses) == {200}
    last = _history(lines)[-1]
    assert (last.action, last.version) == ("return", "2")
    assert "answers that differ from the champion's" in last.reason


def test_a_sound_canary_stays(lines: Lines) -> None:
    with serving(lines, "--canary", "3=50%", *ANY_SPEED) as server, loaded(server, 4) as load:
        server.wait(lambda: len(load.statuses) > 2000)
        assert "is returned" not in server.log.read_text()
        assert load.versions == {"1", "3"}


def test_if_a_canary_fails_the_champion_answers(lines: Lines) -> None:
    with serving(lines, "--canary", f"{MOODY}=50%") as server:
        sides = {server.predict(1003.0)[1]["x-plumbline-side"] for _ in range(20)}
        assert sides == {"champion"}
        server.wait(lambda: "failures" in server.log.read_text())


def test_if_a_canary_fails_the_current_champion_answers(lines: Lines) -> None:
    waits, go = lines.folder / WAITS_FILE, lines.folder / GO_FILE
    limits = ("--deadline-s", "120", "--predict-timeout", "120")
    with (
        serving(lines, "--canary", f"{MOODY}=50%", "--poll-s", "0.2", *limits) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        while not waits.exists():  # until the canary is asked
            asked = pool.submit(server.predict, WAITS, RAISES)
            server.wait(lambda asked=asked: waits.exists() or asked.done())
        lines.champion("2")
        server.wait(lambda: server.metric("plumbline_swaps_total") == 1)
        go.touch()
        status, headers, _ = asked.result()
        assert (status, headers["x-plumbline-version"]) == (200, "2")


def test_a_return_reaches_the_journal_although_the_server_stops(lines: Lines) -> None:
    before = len(_history(lines))
    with (
        serving(lines, "--canary", "2=50%", *ANY_SPEED) as server,
        (lines.folder / "mlruns/journal.db.lock").open("a") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)  # another decision is being written
        with loaded(server, 4):
            server.wait(lambda: "is returned" in server.log.read_text())
        server.process.send_signal(signal.SIGTERM)
        time.sleep(2)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert server.process.wait(timeout=60) == 0
    assert [(entry.action, entry.version) for entry in _history(lines)[before:]] == [
        ("return", "2")
    ]


def test_a_shadow_gets_requests_and_never_answers(lines: Lines) -> None:
    with serving(lines, "--shadow", "2") as server:
        assert {server.predict(1.0)[1]["x-plumbline-version"] for _ in range(10)} == {"1"}
        server.wait(
            lambda: (
                'outcome="differs",side="shadow"} 10.0' in server.ask("GET", "/metrics")[2].decode()
            )
        )


def test_the_request_log_is_complete_at_the_end(lines: Lines, tmp_path: Path) -> None:
    with serving(
        lines, "--log-folder", str(tmp_path / "log"), "--redact", "builtins:dict"
    ) as server:
        for x in range(5):
            server.predict(float(x), x + 0.5)
        assert server.stop() == 0
    (file,) = (tmp_path / "log").iterdir()
    rows = pq.read_table(file).to_pylist()
    assert [row["input.x"] for row in rows] == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]
    assert {row["version"] for row in rows} == {"1"}
    assert rows[-1]["output.y"] == 10.0


def test_after_sigterm_requests_in_progress_are_answered(lines: Lines) -> None:
    drains(lines, 2)


@pytest.mark.slow
def test_twenty_sigterms_under_load(lines: Lines) -> None:
    drains(lines, 20)


def drains(lines: Lines, count: int) -> None:
    answered = 0
    for _ in range(count):
        with serving(lines) as server, loaded(server, 16) as load:
            server.wait(lambda load=load: len(load.statuses) > 200)
            assert server.stop() == 0
        assert set(load.statuses) == {200}
        assert (load.broken, load.mixed) == (0, 0)
        answered += len(load.statuses)
    assert answered > count


def test_several_workers_one_killed(lines: Lines) -> None:
    with serving(lines, "--workers", "2") as server:
        workers = [int(pid) for pid in _children(server.process.pid)]
        with loaded(server, 8) as load:
            time.sleep(0.5)
            os.kill(workers[0], signal.SIGKILL)
            time.sleep(2)
            server.wait(lambda: len(set(_children(server.process.pid)) - {str(workers[0])}) == 2)
        assert set(load.statuses) == {200}
        assert load.mixed == 0
        assert load.broken <= 8  # only connections of that worker


def test_time_while_the_process_was_suspended_does_not_count(lines: Lines) -> None:
    limits = ("--deadline-s", "4", "--predict-timeout", "6")
    with (
        serving(lines, *limits, uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(2) as pool,
    ):
        (worker,) = _children(server.process.pid)
        slower = pool.submit(server.predict, SLOWER)
        server.wait(lambda: server.metric("plumbline_batch_rows_sum") == 1)
        waiting = pool.submit(server.predict, 1.0)
        time.sleep(0.2)
        os.kill(int(worker), signal.SIGSTOP)
        time.sleep(3)
        os.kill(int(worker), signal.SIGCONT)
        assert slower.result()[0] == 200  # five seconds later, of which three do not count
        assert waiting.result()[0] == 200


def test_a_request_after_close_is_refused() -> None:
    async def late() -> None:
        batcher = Batcher(Moody(2.0, 1.0), Limits())
        await batcher.close()
        with pytest.raises(RequestError, match="not ready"):
            batcher.submit(InferenceRequest({"x": [1.0]}, {}), lambda: False, 1.0)

    asyncio.run(late())


def test_wald() -> None:
    test = Sprt(0.1, 0.5, 0.01)
    for _ in range(100):
        test.add(bad=True)
        if test.failed:
            break
    assert test.num_events == 3  # log(0.95 / 0.01) / log(5) = 2.8
    calm = Sprt(0.1, 0.5, 0.01)
    for _ in range(100):
        calm.add(bad=False)
        if calm.passed:
            break
    assert calm.num_events == 6  # log(0.05 / 0.99) / log(0.5 / 0.9) = 5.1


def test_a_sound_canary_is_seldom_returned() -> None:
    import random

    dice, returned = random.Random(1), 0
    for _ in range(500):
        trial = Trial(Canary("2", 0.1))
        for _ in range(300):
            trial.add(failed=False, differs=dice.random() < 0.03, slow=dice.random() < 0.1)
            if trial.verdict:
                returned += 1
                break
    assert returned <= 15  # 1 % is the level; 3 % would be far beyond it


def _history(lines: Lines) -> list[Entry]:
    with lines.here():
        return promotion.read_history("line")


def _version(server: Server) -> str:
    return server.predict(1.0)[1]["x-plumbline-version"]


def _children(pid: int) -> list[str]:
    """Return the workers: children that are not a resource tracker."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in found if b"spawn_main" in _command(child)]


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return b""
