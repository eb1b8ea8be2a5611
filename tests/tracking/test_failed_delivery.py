"""What MLflow refuses, somebody deleted or a disk cannot hold stops neither stage nor the rest."""

import contextlib
import fcntl
import logging
import resource
import shutil
import sqlite3
import sys
import time
from pathlib import Path

import pytest
from tests.support.checkouts import find_python
from tests.support.tracked_runs import find_run, list_names, list_runs

from plumbline import entrypoint
from plumbline.cli.track import track
from plumbline.contract.errors import RejectedError
from plumbline.contract.params import Params, StrictModel
from plumbline.contract.task import Task
from plumbline.process.stop_signals import Terminated
from plumbline.stages.ingest import ingest
from plumbline.tracking import (
    background,
    batches,
    delivery,
    mlflow_client,
    run_log,
    run_writer,
    spool,
)

SECRET = "hunter2"  # noqa: S105  to look for it in the store
TIMEOUT_S = 900  # the process has the lowest priority: other tests starve it
QUERY = "SELECT text FROM t"
LOSES_RUNS = """
CREATE TRIGGER lose AFTER INSERT ON tags WHEN NEW.key = 'plumbline.dvc_lock'
BEGIN
  DELETE FROM metrics;
  DELETE FROM latest_metrics;
  DELETE FROM params;
  DELETE FROM tags;
  DELETE FROM runs;
END
"""
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


class Remote(StrictModel):
    """Sources on servers, as a task names them."""

    source: dict[str, str]
    sha256: dict[str, str]


def log_run(params: Params, stage: str, **metrics: float) -> None:
    """Log a run of a stage."""
    with run_log.track_run(params, stage) as log:
        log.log_metrics(metrics)


def test_of_a_batch_only_what_mlflow_refuses_is_lost(tracked_line: tuple[Params, Task]) -> None:
    with run_log.track_run(tracked_line[0], "evaluate") as log:
        log.log_params({"a": 1, f"https://u:{SECRET}@host/x": 2, "b": 3})
        metrics = {"test/x": 1.0, "slice//x": 2.0, "test/y": 3.0}
        log.log_metrics(metrics)
        log.set_pass_facts({"plumbline.verdict": "keep"}, metrics)
    log_run(tracked_line[0], "register", x=1.0)
    assert delivery.deliver() == delivery.DeliveryReport(2, 0, None)
    parent, run = list_runs()[0], find_run("evaluate")
    assert run.data.params == {"a": "1", "b": "3"}
    for each in (parent, run):
        assert each.data.metrics == {"test/x": 1.0, "test/y": 3.0}
        assert "slice//x" in each.data.tags[batches.REFUSED_TAG]
    assert parent.data.tags["plumbline.verdict"] == "keep"
    assert find_run("register").data.metrics == {"x": 1.0}


def test_a_pass_that_cannot_be_delivered_does_not_hold_up_the_next(
    tracked_line: tuple[Params, Task],
) -> None:
    log_run(tracked_line[0], "validate", x=1.0)
    (damaged,) = spool.list_passes()
    (spool.list_runs(damaged)[0].folder / spool.RUN).write_text("{", encoding="utf-8")
    spool.write_record(damaged / spool.CLOSED, {"complete": False, "time": 0})
    log_run(tracked_line[0], "register", x=1.0)
    report = delivery.deliver()
    assert f"{damaged.name} is damaged" in str(report.problem)
    assert report.num_waiting == 1
    assert find_run("register").data.metrics == {"x": 1.0}


def test_what_was_deleted_in_mlflow_is_written_again(tracked_line: tuple[Params, Task]) -> None:
    log_run(tracked_line[0], "ingest", x=1.0)
    delivery.deliver()
    client = mlflow_client.connect()
    for run in list_runs():
        client.delete_run(run.info.run_id)
    log_run(tracked_line[0], "validate", y=2.0)
    assert delivery.deliver().problem is None
    parent, *children = list_runs()
    assert {run.info.run_name for run in children} == {"ingest", "validate"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    client.delete_run(parent.info.run_id)
    log_run(tracked_line[0], "evaluate", z=3.0)
    delivery.deliver()
    parent, *children = list_runs()
    assert len(children) == 3
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}


def test_a_pass_that_another_store_has_is_written_to_this_one(
    tracked_line: tuple[Params, Task], mlflow_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(Path.cwd()))
    Path("dvc.lock").write_text("stages: {}\n", encoding="utf-8")
    log_run(tracked_line[0], "register", x=1.0)
    delivery.deliver()
    assert spool.list_passes()  # it waits for the final dvc.lock
    shutil.copy(mlflow_database, "other.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{Path.cwd()}/other.db")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    assert delivery.deliver() == delivery.DeliveryReport(1, 0, None)
    assert spool.list_passes() == []
    assert {status for _, status in list_names()} == {"FINISHED"}
    assert find_run("register").data.metrics == {"x": 1.0}


def test_a_store_that_loses_its_runs_each_time_is_a_problem(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(Path.cwd()))
    Path("dvc.lock").write_text("stages: {}\n", encoding="utf-8")
    log_run(tracked_line[0], "register", x=1.0)
    delivery.deliver()
    with contextlib.closing(sqlite3.connect("mlruns/mlflow.db")) as database:
        database.execute(LOSES_RUNS)
        database.commit()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    report = delivery.deliver()
    assert "not found" in str(report.problem)
    assert spool.list_passes()


def test_a_record_that_is_damaged_is_made_again(tracked_line: tuple[Params, Task]) -> None:
    log_run(tracked_line[0], "ingest", x=1.0)
    delivery.deliver()
    before = list_names()
    (folder,) = spool.list_passes()
    (spool.list_runs(folder)[0].folder / spool.DELIVERED).write_text("{", encoding="utf-8")
    assert delivery.deliver().num_waiting == 0
    assert list_names() == before


def test_a_model_that_was_linked_when_a_delivery_stopped_gets_the_rest(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow refuses to link a model twice."""

    def fail(*_: object, **__: object) -> None:
        raise OSError("stopped")

    with run_log.track_run(tracked_line[0], "train", "gradient") as log:
        log.log_model("gradient", "d" * 64, {})
        log.log_metrics({"train/loss": 0.5}, step=1)
    with monkeypatch.context() as patch:
        patch.setattr(run_writer, "write_metrics", fail)
        assert delivery.deliver().num_waiting == 1
    assert delivery.deliver().num_waiting == 0
    run = find_run("train gradient")
    assert batches.REFUSED_TAG not in run.data.tags
    (model,) = mlflow_client.connect().search_logged_models([run.info.experiment_id])
    assert [metric.key for metric in model.metrics] == ["last/train/loss"]


def test_a_pass_is_described_even_if_that_failed_at_first(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("stopped")

    with run_log.track_run(tracked_line[0], "evaluate") as log:
        log.set_pass_facts({"plumbline.verdict": "keep"}, {"test/x": 1.0})
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "_describe_parent", fail)
        assert delivery.deliver().num_waiting == 1
    assert "plumbline.verdict" not in list_runs()[0].data.tags
    assert delivery.deliver().num_waiting == 0
    assert list_runs()[0].data.tags["plumbline.verdict"] == "keep"


def test_no_secret_of_a_source_is_in_the_store(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, task = tracked_line
    write = task.data.ingest
    monkeypatch.setattr(task.data, "ingest", lambda _, *paths: write(params, *paths))
    url = "https://host/x.csv"
    remote = Remote(
        source={
            "train": f"postgresql://u:{SECRET}/b@db/tickets#{QUERY}",
            "test": f"{url}?token={SECRET}",
        },
        sha256={f"{url}?token={SECRET}": "0" * 64},
    )
    ingest(params.model_copy(update={"data": remote}), task)
    assert delivery.deliver().problem is None
    run = find_run("ingest")
    assert run.data.params["data.source.train"] == f"postgresql://db/tickets#{QUERY}"
    assert run.data.params["data.source.test"] == url
    assert run.data.params["seed"] == str(params.seed)
    assert batches.REFUSED_TAG not in run.data.tags
    for path in Path.cwd().rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "uri",
    [f"http://localhost:{SECRET}", f"http://[{SECRET}", f"postgresql://u:{SECRET}/b@127.0.0.1:9/d"],
)
def test_an_address_that_cannot_be_used_is_a_problem_without_its_text(
    tracked_line: tuple[Params, Task],
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with caplog.at_level(logging.WARNING):
        log_run(tracked_line[0], "ingest", x=1.0)
    report = delivery.deliver()
    assert report.num_waiting == 1
    expected = "127.0.0.1:9 is unreachable" if "@" in uri else "is not a valid address"
    assert expected in str(report.problem)
    assert SECRET not in f"{report.problem} {caplog.text}"


def test_a_write_that_fails_stops_no_stage(
    tracked_line: tuple[Params, Task], caplog: pytest.LogCaptureFixture
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with caplog.at_level(logging.WARNING), run_log.track_run(tracked_line[0], "ingest") as log:
            assert log.spooled is not None
            size = (log.spooled.folder / spool.EVENTS).stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
            log.log_metrics({"x": 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "tracking stopped" in caplog.text


def test_data_that_cannot_be_described_stop_no_stage(tracked_line: tuple[Params, Task]) -> None:
    with run_log.track_run(tracked_line[0], "ingest") as log:
        log.log_dataset("line", "ingest")  # there are none
    assert delivery.deliver().num_waiting == 0


def test_a_pass_that_is_removed_meanwhile_is_none(tracked_line: tuple[Params, Task]) -> None:
    log_run(tracked_line[0], "ingest", x=1.0)
    (folder,) = spool.list_passes()
    (folder / spool.PASS).write_text("", encoding="utf-8")
    log_run(tracked_line[0], "ingest", x=1.0)
    assert len(spool.list_passes()) == 2
    delivery.deliver()
    assert find_run("ingest").data.metrics == {"x": 1.0}


def test_where_nothing_waits_an_unreachable_server_is_no_failure(
    tracked_line: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    track()
    assert "brought 0 runs to MLflow; nothing waits" in capsys.readouterr().out


def test_the_process_that_delivers_outlives_the_folder_of_an_experiment(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path.cwd()
    copy = home / ".dvc/tmp/exps/tmpabc"
    copy.mkdir(parents=True)
    monkeypatch.chdir(copy)
    monkeypatch.setattr(sys, "executable", find_python())
    log_run(tracked_line[0], "ingest", x=1.0)
    background.start()
    monkeypatch.chdir(home)
    shutil.rmtree(copy)
    wait_until_delivered()
    assert find_run("ingest").info.status == "FINISHED"


def test_a_process_that_is_about_to_end_leaves_no_work_undone(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", find_python())
    log_run(tracked_line[0], "ingest", x=1.0)
    with (spool.locate_spool() / background.LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        background.start()
        time.sleep(3)
    wait_until_delivered()
    assert find_run("ingest").info.status == "FINISHED"


@pytest.mark.slow
def test_a_stage_that_fails_or_is_stopped_ends_when_mlflow_has_it(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container ends with the stage, and so does what it has in the background."""
    params, task = tracked_line

    def stop(stage: str, *_: object) -> None:
        with run_log.track_run(params, stage):
            raise RejectedError("no") if stage == "validate" else Terminated

    monkeypatch.setattr(entrypoint, "load_params", lambda _: params)
    monkeypatch.setattr(entrypoint, "load_task", lambda _: task)
    monkeypatch.setattr(entrypoint, "run_stage", stop)
    monkeypatch.setattr(entrypoint, "raise_on_signals", lambda: None)
    monkeypatch.setattr(entrypoint, "FAILED_WAIT_S", TIMEOUT_S)
    monkeypatch.setattr(entrypoint, "STOPPED_WAIT_S", TIMEOUT_S)
    monkeypatch.setattr(sys, "argv", ["stage"])
    monkeypatch.setattr(sys, "executable", find_python())
    for stage, code, status in (("validate", 1, "FAILED"), ("evaluate", 143, "KILLED")):
        assert entrypoint.main(stage) == code
        assert find_run(stage).info.status == status


def wait_until_delivered() -> None:
    until = time.monotonic() + TIMEOUT_S
    while delivery.has_work() and time.monotonic() < until:
        time.sleep(0.2)


@pytest.mark.parametrize("content", [b"no database " * 1000, b"SQLite format 3\0" + b"\1" * 9000])
def test_a_store_that_is_no_database_stops_nothing_and_is_named(
    content: bytes, tracked_line: tuple[Params, Task]
) -> None:
    Path("mlruns/mlflow.db").write_bytes(content)
    log_run(tracked_line[0], "ingest", rows=1)
    report = delivery.deliver()
    assert report.num_waiting == 1
    assert "not a database" in str(report.problem) or "malformed" in str(report.problem)
