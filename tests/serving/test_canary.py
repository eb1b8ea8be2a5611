"""A canary and a shadow beside the champion, under real requests."""

import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from tests.support.serving.lines import MOODY, READY_S, Lines, Server, is_ready, serving
from tests.support.serving.load import list_workers, loaded, read_history, read_version
from tests.support.serving.moody import REJECTS

from plumbline.registry import journal


def test_a_canary_that_differs_much_is_taken_out_and_not_returned(lines: Lines) -> None:
    """Which of the two is right nobody knows: a person may look, and promote it."""
    before = len(read_history(lines))
    with serving(lines, "--canary", "2=50%") as server:
        with loaded(server, 4) as load:
            server.wait(lambda: "taken out of service, not returned" in server.log.read_text())
        assert set(load.statuses) == {200}
        assert "answers that differ from the champion's" in server.log.read_text()
        assert {read_version(server) for _ in range(40)} == {"1"}
        replace_workers(server)
        assert {read_version(server) for _ in range(40)} == {"1"}
    assert read_history(lines)[before:] == []


def fail(server: Server) -> None:
    """Ask what the moody canary rejects, until it is returned."""
    while "is returned" not in server.log.read_text():
        assert server.predict(REJECTS)[0] == 200


def test_an_address_with_a_version_is_not_answered_by_the_canary(lines: Lines) -> None:
    tensor = {"name": "x", "shape": [1], "datatype": "FP64", "data": [1.0]}
    body = json.dumps({"inputs": [tensor]})
    with serving(lines, "--canary", "3=50%") as server:
        for path, versions in (("", {"1", "3"}), ("/versions/1", {"1"})):
            answers = [server.ask("POST", f"/v2/models/line{path}/infer", body) for _ in range(40)]
            assert {status for status, _, _ in answers} == {200}
            assert {json.loads(raw)["model_version"] for _, _, raw in answers} == versions


def test_the_champion_is_not_a_canary(lines: Lines) -> None:
    with serving(lines, "--canary", "1=5%", ready=False) as server:
        assert server.process.wait(timeout=READY_S) == 2
        assert "--canary 1: that version is the champion" in server.log.read_text()


def test_beside_another_champion_a_canary_is_stopped(lines: Lines) -> None:
    before = len(read_history(lines))
    with serving(lines, "--canary", "3=50%", "--limit", "poll_s=0.2") as server:
        lines.champion("2")
        server.wait(lambda: "taken out of service, not returned" in server.log.read_text())
        assert {server.predict(1.0)[1]["x-plumbline-version"] for _ in range(20)} == {"2"}
    assert "return" not in [entry.action for entry in read_history(lines)[before:]]


def test_a_worker_that_starts_without_a_registry_serves_what_was_kept(
    lines: Lines, tmp_path: Path
) -> None:
    mlruns = lines.path / "mlruns"
    options = ("--canary", "3=50%", "--shadow", "2", "--limit", "poll_s=0.2")
    with serving(lines, *options) as server:
        mlruns.rename(tmp_path / "away")
        try:
            server.wait(lambda: "keeps serving" in server.log.read_text())
            time.sleep(1)  # a few polls: the canary goes on
            assert {read_version(server) for _ in range(40)} == {"1", "3"}
            replace_workers(server)
            log = server.log.read_text()
            assert "canary: not in service" in log
            assert "shadow: not in service" in log
            assert {read_version(server) for _ in range(20)} == {"1"}
        finally:
            shutil.rmtree(mlruns, ignore_errors=True)
            (tmp_path / "away").rename(mlruns)


def test_a_canary_whose_worker_dies_is_not_served_again(lines: Lines) -> None:
    with serving(lines, "--canary", "3=50%") as server:
        (worker,) = list_workers(server.process.pid)
        os.kill(int(worker), signal.SIGKILL)
        server.wait(lambda: "a worker had it before" in server.log.read_text())
        server.wait(lambda: is_ready(server))
        assert {read_version(server) for _ in range(20)} == {"1"}


@pytest.mark.slow
def test_a_return_reaches_every_server_on_the_journal(lines: Lines) -> None:
    """Two servers as two replicas: one hears no complaint of its own, and stops its canary too."""
    before = len(read_history(lines))
    options = ("--canary", f"{MOODY}=50%", "--limit", "poll_s=0.2")
    with serving(lines, *options) as one, serving(lines, *options) as other:
        assert {read_version(other) for _ in range(40)} == {"1", MOODY}
        fail(one)
        other.wait(lambda: f"service: line: version {MOODY} was" in other.log.read_text())
        assert {read_version(other) for _ in range(20)} == {"1"}
        replace_workers(other)
        assert {read_version(other) for _ in range(20)} == {"1"}
    assert [entry.action for entry in read_history(lines)[before:]] == ["return"]


def test_one_worker_that_takes_the_canary_out_does_so_for_all(lines: Lines) -> None:
    options = ("--canary", "2=50%", "--workers", "2", "--limit", "poll_s=0.2")
    with serving(lines, *options) as server:
        with loaded(server, 4):
            server.wait(lambda: server.log.read_text().count("taken out of service") == 2)
        assert {read_version(server) for _ in range(40)} == {"1"}


def test_what_the_canary_rejects_and_the_champion_answers_is_a_failure(lines: Lines) -> None:
    with serving(lines, "--canary", f"{MOODY}=50%") as server:
        answers = [server.predict(REJECTS) for _ in range(20)]
        assert {(status, headers["x-plumbline-side"]) for status, headers, _ in answers} == {
            (200, "champion")
        }
        server.wait(lambda: "failures" in server.log.read_text())


def test_a_return_reaches_the_journal_although_the_server_stops(lines: Lines) -> None:
    before = len(read_history(lines))
    with (
        serving(lines, "--canary", f"{MOODY}=50%") as server,
        (lines.path / "mlruns/journal.db.lock").open("a") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)  # another decision is being written
        fail(server)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(2)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert server.process.wait(timeout=600) == 0
    (entry,) = read_history(lines)[before:]
    assert (entry.action, entry.version) == ("return", MOODY)
    assert "failures: " in entry.reason


def test_a_shadow_gets_requests_and_never_answers(lines: Lines) -> None:
    with serving(lines, "--shadow", "2") as server:
        assert {server.predict(1.0)[1]["x-plumbline-version"] for _ in range(10)} == {"1"}
        server.wait(
            lambda: (
                'outcome="differs",side="shadow"} 10.0' in server.ask("GET", "/metrics")[2].decode()
            )
        )


def replace_workers(server: Server) -> None:
    """SIGHUP; returns when another worker answers, and the old one has ended."""
    (old,) = list_workers(server.process.pid)
    server.process.send_signal(signal.SIGHUP)
    server.wait(lambda: old not in list_workers(server.process.pid))
    server.wait(lambda: is_ready(server))


def test_a_canary_that_was_returned_before_does_not_start(lines: Lines) -> None:
    with lines.here(), journal.lock_journal() as book:
        book.append(journal.Decision("line", "return", "2", "", "", "", "3 failures"))
    for option in (("--canary", "2=50%"), ("--shadow", "2")):
        with serving(lines, *option, ready=False) as server:
            assert server.process.wait(timeout=READY_S) != 0
            assert "version 2 was returned as a canary" in server.log.read_text()
