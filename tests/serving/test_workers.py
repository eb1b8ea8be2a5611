"""Processes of a server that stop, die or are suspended under load."""

import os
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.serving.lines import READY_S, Lines, serving
from tests.support.serving.load import list_workers, loaded


def test_an_answer_carries_the_id_under_which_it_is_logged(lines: Lines, tmp_path: Path) -> None:
    given = "6f1c-2:a/b+c=@7.8_9"
    insane = ["", "a b", "a" * 129, "a;b", "é"]
    options = ("--log-folder", str(tmp_path / "log"), "--redact", "builtins:dict")
    with serving(lines, *options) as server:
        ids = [server.predict(0.0, X_Request_Id=given)[1]["x-request-id"]]
        ids += [server.predict(1.0, X_Request_Id=text)[1]["x-request-id"] for text in insane]
        ids.append(server.predict(2.0)[1]["x-request-id"])
        for path in ("/ping", "/nope"):
            assert server.ask("GET", path, X_Request_Id=given)[1]["x-request-id"] == given
        assert server.ask("GET", "/ping", host="evil.example")[1]["x-request-id"]
        assert server.stop() == 0
    (file,) = (tmp_path / "log").iterdir()
    rows = pq.read_table(file).to_pylist()
    assert [row["request_id"] for row in rows] == ids
    assert {row["version"] for row in rows} == {"1"}
    assert (rows[-1]["input.x"], rows[-1]["output.y"]) == (2.0, 5.0)
    assert ids[0] == given
    assert not set(insane) & set(ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://a/b", "not a folder for requests"),
        ("zip://a::s3://b/c", "not a folder for requests"),
        ("az://user:secret@b/c", "az://b/c"),
    ],
)
def test_an_address_that_cannot_be_written_is_refused_at_the_start(
    lines: Lines, address: str, reason: str
) -> None:
    with serving(lines, "--log-folder", address, ready=False) as server:
        assert server.process.wait(timeout=READY_S) == 2
    said = server.log.read_text()
    assert reason in said
    assert "secret" not in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_after_sigterm_requests_in_progress_are_answered(lines: Lines) -> None:
    with serving(lines) as server, loaded(server, 16) as load:
        server.wait(lambda: len(load.statuses) > 200)
        assert server.stop() == 0
    assert set(load.statuses) == {200}
    # Of each client at most the request that was on its way when the connection was closed.
    assert load.broken <= load.num_clients
    assert load.mixed == 0


@pytest.mark.slow
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
