"""The registry changes while a server runs: hot swaps under load, unfit versions, outages."""

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest
from tests.support.serving.lines import MOODY, READY_S, Lines, serving
from tests.support.serving.load import Load, list_workers, loaded, read_version

from plumbline.registry import model_versions


def swaps(lines: Lines, count: int) -> Load:
    with serving(lines, "--limit", "poll_s=0.2") as server, loaded(server) as load:
        for number in range(count):
            version = "2" if number % 2 == 0 else "1"
            lines.champion(version)
            server.wait(lambda version=version: read_version(server) == version)
        assert server.metric('plumbline_swaps_total{outcome="done"}') == count
    return load


@pytest.mark.slow
def test_hot_swaps_under_load(lines: Lines) -> None:
    load = swaps(lines, 10)
    assert set(load.statuses) == {200}
    assert (load.mixed, load.broken, load.versions) == (0, 0, {"1", "2"})


def test_a_version_may_be_replaced_while_a_body_arrives(lines: Lines) -> None:
    limits = ("--limit", "poll_s=0.2", "--limit", "read_timeout_s=600")
    body = b'{"inputs": [1.0, 2.0]}'
    head = f"POST /invocations HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    with serving(lines, *limits) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as late:
            late.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:9])
            lines.champion("2")
            server.wait(lambda: read_version(server) == "2")
            late.sendall(body[9:])
            answer = late.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"\r\nx-plumbline-version: 2\r\n" in answer
        rows = json.loads(answer.partition(b"\r\n\r\n")[2])["predictions"]
        assert rows == [{"y": 4.0}, {"y": 7.0}]


def test_an_alias_that_was_moved_or_deleted_by_hand_is_not_followed(lines: Lines) -> None:
    with serving(lines, "--limit", "poll_s=0.2") as server:
        with lines.here():
            client = model_versions.connect_registry()
            client.set_registered_model_alias("line", "champion", "2")  # without a journal entry
        try:
            server.wait(lambda: server.metric('plumbline_swaps_total{outcome="refused"}') > 0)
            assert read_version(server) == "1"
            client.delete_registered_model_alias("line", "champion")
            said = "line version 1 keeps serving: models:/line@champion: no version has the alias"
            server.wait(lambda: said in server.log.read_text())
            assert server.metric("plumbline_registry_up ") == 1
            assert read_version(server) == "1"
            with serving(lines, ready=False) as again:
                assert again.process.wait(timeout=READY_S) == 1
                assert "no version has the alias champion" in again.log.read_text()
        finally:
            client.set_registered_model_alias("line", "champion", "1")


def test_it_starts_and_keeps_serving_without_a_registry(lines: Lines, tmp_path: Path) -> None:
    mlruns = lines.path / "mlruns"
    with serving(lines, "--limit", "poll_s=0.2") as server:
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


def test_a_version_whose_code_ends_the_process_never_serves(lines: Lines) -> None:
    with serving(lines, "--limit", "poll_s=0.2", LINE_EXITS="1") as server:
        workers = list_workers(server.process.pid)
        lines.champion(MOODY)
        server.wait(lambda: "cannot be loaded (SystemExit" in server.log.read_text())
        assert read_version(server) == "1"
        shown = json.loads(server.ask("GET", "/version")[2])
        assert shown["version"] == "1"
        assert "version 4: cannot be loaded (SystemExit" in shown["problem"]
        lines.champion("2")  # polling goes on
        server.wait(lambda: read_version(server) == "2")
        assert list_workers(server.process.pid) == workers


@pytest.mark.slow
def test_a_worker_restarted_under_an_unfit_champion_stops_no_other(lines: Lines) -> None:
    with serving(lines, "--limit", "poll_s=0.2", "--workers", "2", LINE_ELSEWHERE="1") as server:
        lines.champion(MOODY)
        server.wait(lambda: "answer to golden row 0 (y) differs" in server.log.read_text())
        killed = list_workers(server.process.pid)[0]
        os.kill(int(killed), signal.SIGKILL)
        server.wait(lambda: len(set(list_workers(server.process.pid)) - {killed}) == 2)
        server.wait(lambda: "which served last, keeps serving" in server.log.read_text())
        assert {read_version(server) for _ in range(20)} == {"1"}
        assert len(list_workers(server.process.pid)) == 2
