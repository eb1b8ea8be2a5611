"""Processes of a server that stop, die or are suspended under load."""

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.serving.lines import MOODY, Lines, serving
from tests.support.serving.load import list_workers, loaded
from tests.support.serving.moody import SLOWER, Moody

from plumbline.serving.batching import Batcher
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.server import START_S
from plumbline.serving.settings import Limits

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_worker_that_dies_during_its_health_check_is_replaced_at_once(
    lines: Lines,
) -> None:
    with serving(lines) as server:
        (worker,) = list_workers(server.process.pid)
        os.kill(int(worker), signal.SIGSTOP)
        time.sleep(1.5)  # it is asked every half second
        os.kill(int(worker), signal.SIGKILL)
        server.wait(lambda: set(list_workers(server.process.pid)) - {worker}, START_S / 2)


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
        workers = [int(pid) for pid in list_workers(server.process.pid)]
        with loaded(server, 8) as load:
            time.sleep(0.5)
            os.kill(workers[0], signal.SIGKILL)
            time.sleep(2)
            server.wait(lambda: len(set(list_workers(server.process.pid)) - {str(workers[0])}) == 2)
        assert set(load.statuses) == {200}
        assert load.mixed == 0
        assert load.broken <= 8  # only connections of that worker


def test_time_while_the_process_was_suspended_does_not_count(lines: Lines) -> None:
    limits = ("--deadline-s", "4", "--predict-timeout", "6")
    with (
        serving(lines, *limits, uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(2) as pool,
    ):
        (worker,) = list_workers(server.process.pid)
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
