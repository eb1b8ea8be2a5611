"""A store that is away, refuses, or loses what it had: no stage fails, and nothing is lost."""

import logging
from pathlib import Path

import pytest
from tests.support import postgres
from tests.support.mlflow_server import run_mlflow_server
from tests.support.tracked_runs import (
    CURVE,
    find_run,
    follow_curve,
    list_names,
    list_runs,
    log_run,
    write_curve,
)

from plumbline.contract.params import Params, StrictModel
from plumbline.contract.task import Task
from plumbline.entrypoint import run_tracked
from plumbline.tracking import delivery, mlflow_client
from plumbline.tracking.records import RunFacts
from plumbline.tracking.stage_runs import track_stage

AWAY = "http://127.0.0.1:9"
SECRET = "hunter2"  # noqa: S105  to look for it in the store
QUERY = "SELECT text FROM t"
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


class Remote(StrictModel):
    """Sources on servers, as a task names them."""

    source: dict[str, str]
    sha256: dict[str, str]


def test_names_that_mlflow_refuses_are_written_in_others(tracked_line: tuple[Params, Task]) -> None:
    metrics = {"test/x": 1.0, "slice//x": 2.0, "slice/C#/x": 3.0}
    params = {"a": 1, f"https://u:{SECRET}@host/x": 2, "b": 3}
    log_run(tracked_line[0], "evaluate", params=params, metrics=metrics, pass_metrics=metrics)
    parent, run = list_runs()[0], find_run("evaluate")
    assert run.data.params == {"a": "1", "https:/_/host/x": "2", "b": "3"}
    written = {"test/x": 1.0, "slice/_/x": 2.0, "slice/C_/x": 3.0}
    for each in (parent, run):
        assert each.data.metrics == written


def test_while_a_server_is_away_each_run_waits_and_is_brought_by_its_own_files(
    tracked_line: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    params, _ = tracked_line
    monkeypatch.setenv("MLFLOW_TRACKING_URI", AWAY)
    with caplog.at_level(logging.WARNING):
        write_curve(CURVE)
        with track_stage(params, "train", "gradient", follow_curve):
            pass
    assert f"1 run waits in .plumbline/tracking ({AWAY}/" in caplog.text
    assert "the server is unreachable" in caplog.text
    assert "the next `plumbline run` brings them" in caplog.text
    write_curve(CURVE.replace("0.5", "0.4"))
    with track_stage(params, "train", "gradient", follow_curve):  # again: a new pass
        pass
    delivery.deliver().warn()
    assert "2 runs wait" in caplog.text
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert delivery.deliver() == delivery.DeliveryReport()
    trained = [run for run in list_runs() if run.info.run_name == "train gradient"]
    assert [run.data.metrics["train/loss"] for run in trained] == [0.5, 0.4]
    assert [status for _, status in list_names()] == ["FINISHED"] * 4
    assert delivery.list_waiting() == []
    assert delivery.deliver() == delivery.DeliveryReport()


@pytest.mark.slow
@pytest.mark.service
def test_a_database_of_the_server_may_stop_and_start_while_a_run_goes_on(
    line_task: tuple[Params, Task],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_curve(CURVE)
    with postgres.started() as database, run_mlflow_server(tmp_path, database.uri) as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        log_run(line_task[0], "ingest")
        with track_stage(line_task[0], "train", "gradient", follow_curve):
            database.stop()
        assert "1 run waits in .plumbline/tracking" in caplog.text
        database.start()
        log_run(line_task[0], "control", "closed")
        assert delivery.list_waiting() == []
        assert find_run("train gradient").data.metrics["train/loss"] == 0.5
        assert {status for _, status in list_names()} == {"FINISHED"}


def test_a_record_that_cannot_be_delivered_does_not_hold_up_the_next(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, _ = tracked_line
    monkeypatch.setenv("MLFLOW_TRACKING_URI", AWAY)
    Path("kept.txt").write_text("x", encoding="utf-8")
    facts = RunFacts()
    facts.add_file(Path("kept.txt"))
    log_run(params, "ingest", files=facts.files)
    log_run(params, "validate", metrics={"x": 1.0})
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    mlflow_client.connect()
    Path("mlruns/artifacts").write_text("no folder", encoding="utf-8")
    report = delivery.deliver()
    assert report.num_waiting == 1
    assert "mlruns/artifacts" in str(report.problem)
    assert find_run("validate").data.metrics == {"x": 1.0}
    Path("mlruns/artifacts").unlink()
    assert delivery.deliver() == delivery.DeliveryReport()


def test_a_param_that_changed_meanwhile_keeps_its_first_value(
    tracked_line: tuple[Params, Task], waited: None, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"workers": 1}
    with track_stage(tracked_line[0], "train", "gradient", lambda _: RunFacts(params=dict(given))):
        delivery.deliver()
        given.update(workers=2, seed=3)
    with caplog.at_level(logging.WARNING):
        assert delivery.deliver() == delivery.DeliveryReport()
    assert find_run("train gradient").data.params == {"workers": "1", "seed": "3"}
    assert caplog.text.count("MLflow keeps the first value of workers") == 1
    assert delivery.list_waiting() == []


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
    run_tracked("ingest", params.model_copy(update={"data": remote}), task)
    run = find_run("ingest")
    assert run.data.params["data.source.train"] == f"postgresql://db/tickets#{QUERY}"
    assert run.data.params["data.source.test"] == url
    assert run.data.params["seed"] == str(params.seed)
    for path in Path.cwd().rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "uri", [f"http://u:{SECRET}@127.0.0.1:9", f"postgresql://u:{SECRET}/b@127.0.0.1:9/d"]
)
def test_an_address_that_cannot_be_used_is_a_problem_without_its_password(
    tracked_line: tuple[Params, Task],
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with caplog.at_level(logging.WARNING):
        log_run(tracked_line[0], "ingest")
    assert "1 run waits" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("content", [b"no database " * 1000, b"SQLite format 3\0" + b"\1" * 9000])
def test_a_store_that_is_no_database_stops_nothing_and_is_named(
    content: bytes, tracked_line: tuple[Params, Task], caplog: pytest.LogCaptureFixture
) -> None:
    Path("mlruns/mlflow.db").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        log_run(tracked_line[0], "ingest", metrics={"rows": 1})
    assert "1 run waits" in caplog.text
    assert "not a database" in caplog.text or "malformed" in caplog.text


def test_a_copy_for_an_experiment_tells_its_story_before_it_is_removed(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path.cwd()
    copy = home / ".dvc/tmp/exps/tmpabc"
    copy.mkdir(parents=True)
    monkeypatch.setenv("DVC_EXP_NAME", "slower")
    monkeypatch.chdir(copy)
    log_run(tracked_line[0], "ingest", metrics={"x": 1.0})
    monkeypatch.chdir(home)
    parent, child = list_runs()
    assert parent.info.run_name.endswith("slower")
    assert parent.data.tags["plumbline.dvc_experiment"] == "slower"
    assert (child.info.status, child.data.metrics) == ("FINISHED", {"x": 1.0})
