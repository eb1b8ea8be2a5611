"""What stages log is in MLflow once and as a whole, also after a kill or while it was away."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.tracked_runs import find_run, list_names, list_runs

from plumbline.contract import layout
from plumbline.contract.errors import RefusedError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.files import digest_path, write_json
from plumbline.stages.ingest import ingest
from plumbline.stages.train import train
from plumbline.tracking import delivery, mlflow_client, run_log, spool
from plumbline.tracking.processes import identify_process
from plumbline.tracking.system_metrics import SystemMonitors

AWAY = "http://127.0.0.1:9"
UNREADABLE = "/proc/self/mem"  # its first byte is no memory: an I/O error, for root too
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries
KILLED = """
import os, signal, sys
from tests.tracking.test_spool_delivery import read_line
from plumbline.tracking import run_log
with run_log.track_run(read_line(), "train", "gradient") as log:
    log.log_params({"learning_rate": 0.05})
    for epoch in (1, 2):
        log.log_metrics({"train/loss": 1 / epoch}, step=epoch)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def prepare(params: Params, task: Task) -> None:
    """Ingest, and accept what there is."""
    ingest(params, task)
    digests = {
        "manifest": digest_path(layout.MANIFEST),
        "examples": digest_path(layout.EXAMPLES),
    }
    write_json(layout.VALIDATION, {"accepted": True, **digests})


@pytest.mark.slow
def test_each_seed_has_its_metrics_and_its_model(tracked_line: tuple[Params, Task]) -> None:
    params, task = tracked_line
    config = params.candidates["gradient"].model_copy(update={"seeds": 3})
    seeded = params.model_copy(update={"candidates": {"gradient": config}})
    prepare(seeded, task)
    train(seeded, task, "gradient")
    assert delivery.deliver().problem is None
    run = find_run("train gradient")
    assert run.data.params["seed"] == "3"
    losses = {
        "gradient": run.data.metrics["validation/loss"],
        "gradient-seed-4": run.data.metrics["seed/4/validation/loss"],
        "gradient-seed-5": run.data.metrics["seed/5/validation/loss"],
    }
    assert len(set(losses.values())) == 3
    models = mlflow_client.connect().search_logged_models([run.info.experiment_id])
    for model in models:
        metrics = {metric.key: metric.value for metric in model.metrics}
        assert metrics["last/validation/loss"] == losses.pop(model.name)
        assert not [key for key in metrics if "seed/" in key]
    assert not losses


def test_a_stage_is_a_child_of_its_pass_with_its_own_params_and_data(
    tracked_line: tuple[Params, Task],
) -> None:
    import mlflow.data

    prepare(*tracked_line)
    train(*tracked_line, "closed")
    assert delivery.deliver().problem is None
    parent, child, trained = list_runs()
    assert {run.data.tags["mlflow.parentRunId"] for run in (child, trained)} == {parent.info.run_id}
    assert "mlflow.parentRunId" not in parent.data.tags
    keys = [run.data.tags["plumbline.run"] for run in (parent, child, trained)]
    assert keys[1:] == [f"{keys[0]}, 001 ingest", f"{keys[0]}, 002 train closed"]
    assert [run.info.status for run in (parent, child, trained)] == ["FINISHED"] * 3
    assert trained.data.params["kind"] == "least_squares"
    assert not [key for key in trained.data.params if "gradient" in key or "evaluation" in key]
    for run in (parent, child, trained):
        assert run.data.tags["mlflow.user"]
        assert run.data.tags["mlflow.source.type"] == "LOCAL"
        assert run.data.tags["mlflow.source.name"]
    (data,) = (entry.dataset for entry in child.inputs.dataset_inputs)
    assert data.digest == digest_path(layout.MANIFEST)[:36]
    names = [column["name"] for column in json.loads(data.schema)["mlflow_colspec"]]
    assert {"id", "split", "label"} <= set(names)
    assert json.loads(data.profile)["num_test"] == 200
    source = mlflow.data.get_source(child.inputs.dataset_inputs[0])
    assert source.to_dict()["tags"]["manifest"] == digest_path(layout.MANIFEST)


def test_a_bundle_is_a_model_of_its_run(tracked_line: tuple[Params, Task]) -> None:
    prepare(*tracked_line)
    train(*tracked_line, "closed")
    delivery.deliver()
    client = mlflow_client.connect()
    run = find_run("train closed")
    (output,) = run.outputs.model_outputs
    model = client.get_logged_model(output.model_id)
    seal = layout.locate_bundle("closed") / layout.BUNDLE_SEAL
    assert model.tags["plumbline.bundle"] == digest_path(seal)
    assert (model.name, model.params["kind"]) == ("closed", "least_squares")
    (kept,) = client.list_artifacts(run.info.run_id, "bundle")
    assert kept.path == "bundle/bundle.json"


def test_delivered_again_from_any_point_nothing_is_there_twice(
    tracked_line: tuple[Params, Task],
) -> None:
    """As if the process that delivers had been killed before it could note what it wrote."""
    params, _ = tracked_line
    prepare(*tracked_line)
    with run_log.track_run(params, "train", "gradient") as log:
        for epoch in (1, 2, 3):
            log.log_metrics({"train/loss": 1 / epoch, "validation/loss": 2 / epoch}, step=epoch)
        log.draw_learning_curve()
        log.log_model("gradient", "d" * 64, {})
    delivery.deliver()
    before = describe_store()
    for record in spool.locate_spool().rglob(spool.DELIVERED):
        record.unlink()
    assert delivery.deliver().num_waiting == 0
    assert describe_store() == before
    assert before["metrics"]["train/loss"] == [(1, 1.0), (2, 0.5), (3, 1 / 3)]
    assert before["models"] == ["gradient"]


def describe_store() -> dict[str, Any]:
    client = mlflow_client.connect()
    run = find_run("train gradient")
    history = {}
    for key in run.data.metrics:
        points = client.get_metric_history(run.info.run_id, key)
        history[key] = [(point.step, point.value) for point in points]
    models = client.search_logged_models([run.info.experiment_id])
    artifacts = [file.path for file in client.list_artifacts(run.info.run_id)]
    return {
        "runs": list_names(),
        "metrics": history,
        "models": [model.name for model in models],
        "artifacts": artifacts,
    }


def read_line() -> Params:
    """The line's parameters, in a process of its own."""
    import importlib

    from tests.support.checkouts import LINE

    from plumbline.contract.params_file import read_params

    sys.path.append(str(LINE.parents[1]))
    shape = importlib.import_module("tasks.line.params").PARAMS
    return read_params(LINE / "params.yaml", lambda _: shape)


def test_a_stage_that_was_killed_is_killed_in_mlflow_and_goes_on_in_the_same_run(
    tracked_line: tuple[Params, Task],
) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    (folder,) = spool.list_passes()
    with (spool.list_runs(folder)[0].folder / spool.EVENTS).open("a") as file:
        file.write('{"kind": "metr')  # a line that the kill cut off
    delivery.deliver()
    assert [status for _, status in list_names()] == ["KILLED", "KILLED"]
    with run_log.track_run(tracked_line[0], "train", "gradient") as log:
        log.log_params({"learning_rate": 0.05})
        for epoch in (2, 3):  # the epoch after the last checkpoint is trained again
            log.log_metrics({"train/loss": 1 / epoch}, step=epoch)
    delivery.deliver()
    assert list_names() == [(list_names()[0][0], "FINISHED"), ("train gradient", "FINISHED")]
    run = find_run("train gradient")
    points = mlflow_client.connect().get_metric_history(run.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in points] == [(1, 1.0), (2, 0.5), (3, 1 / 3)]


def test_a_run_that_is_alive_is_running_and_its_curve_is_there(
    tracked_line: tuple[Params, Task],
) -> None:
    with run_log.track_run(tracked_line[0], "train", "gradient") as log:
        log.log_metrics({"train/loss": 0.5}, step=1)
        delivery.deliver()
        assert [status for _, status in list_names()] == ["RUNNING", "RUNNING"]
        assert find_run("train gradient").data.metrics == {"train/loss": 0.5}
    delivery.deliver()
    assert [status for _, status in list_names()] == ["FINISHED", "FINISHED"]


def test_a_training_that_is_alive_has_its_machine_watched(
    tracked_line: tuple[Params, Task],
) -> None:
    monitors = SystemMonitors()
    with run_log.track_run(tracked_line[0], "train", "gradient"):
        delivery.deliver()
        monitors.follow()
        (thread,) = (t for t in threading.enumerate() if "SystemMetrics" in t.name)
    monitors.follow()
    thread.join(timeout=600)
    assert not thread.is_alive()


def test_a_failure_is_a_failed_run_and_the_end_of_the_pass(
    tracked_line: tuple[Params, Task],
) -> None:
    def reject() -> None:
        with run_log.track_run(tracked_line[0], "validate"):
            raise RejectedError("no")

    for _ in range(2):
        with pytest.raises(RejectedError):
            reject()
    delivery.deliver()
    assert [status for _, status in list_names()] == ["FAILED"] * 4  # two passes
    assert spool.list_passes() == []


def test_a_refusal_is_a_finished_run_and_no_lock_is_waited_for(
    repository: tuple[Params, Task],
) -> None:
    """Another stage of the pass did not run: DVC had its output."""
    prepare(*repository)
    delivery.deliver()
    with pytest.raises(RefusedError), run_log.track_run(repository[0], "ingest"):
        raise RefusedError("a new pass begins")
    with pytest.raises(RefusedError), run_log.track_run(repository[0], "register"):
        raise RefusedError("no")
    assert delivery.deliver().problem is None
    assert "validate (restored)" in [name for name, _ in list_names()]
    assert {status for _, status in list_names()} == {"FINISHED"}
    assert spool.list_passes() == []


def test_a_run_does_not_join_a_pass_that_is_removed_meanwhile(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process in the background removes a failed pass while the next stage looks for one."""
    params, _ = tracked_line
    with pytest.raises(RejectedError), run_log.track_run(params, "validate"):
        raise RejectedError("no")
    read_record = spool.read_record

    def read_and_remove(path: Path) -> dict[str, Any]:
        record = read_record(path)
        if path.name == spool.PASS and (path.parent / spool.CLOSED).exists():
            spool.remove_pass(path.parent)
        return record

    with monkeypatch.context() as patched:
        patched.setattr(spool, "read_record", read_and_remove)
        with run_log.track_run(params, "evaluate"):
            pass
    runs = [run for folder in spool.list_passes() for run in spool.list_runs(folder)]
    assert "evaluate" in [run.describe()["name"] for run in runs]


def test_a_pass_that_is_half_removed_is_no_pass(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in the middle of its removal leaves nothing that a stage would join."""
    params, _ = tracked_line

    def refuse(path: Path) -> None:
        raise KeyboardInterrupt

    log_register(params)
    with monkeypatch.context() as patched:
        patched.setattr("plumbline.tracking.spool.shutil.rmtree", refuse)
        with pytest.raises(KeyboardInterrupt):
            delivery.deliver()
    assert spool.list_passes() == []
    log_register(params)
    assert delivery.deliver().problem is None
    assert not (spool.locate_spool() / spool.REMOVED).exists()
    assert [name for name, _ in list_names()].count("register") == 2


def log_register(params: Params) -> None:
    with run_log.track_run(params, "register"):
        pass


def test_a_stage_that_dvc_restored_is_linked_to_the_run_that_computed_it(
    tracked_line: tuple[Params, Task],
) -> None:
    params, task = tracked_line
    prepare(params, task)
    train(params, task, "closed")
    for candidate in ("closed", "nothing"):
        (layout.locate_bundle(candidate)).mkdir(exist_ok=True)
        write_json(layout.locate_bundle(candidate) / layout.BUNDLE_SEAL, candidate)
    with run_log.track_run(params, "train", "closed"):
        pass  # again: a new pass begins
    with run_log.track_run(params, "register"):
        pass
    delivery.deliver()
    runs = list_runs()
    restored = {run.info.run_name: run for run in runs if "plumbline.restored" in run.data.tags}
    assert sorted(restored) == [
        "ingest (restored)", "train nothing (restored)", "validate (restored)",
    ]  # fmt: skip
    computed = next(run for run in runs if run.info.run_name == "ingest")
    tags = restored["ingest (restored)"].data.tags
    assert tags["plumbline.computed_by"] == computed.info.run_id
    assert computed.info.run_id in tags["mlflow.note.content"]
    unknown = restored["train nothing (restored)"].data.tags
    assert "plumbline.computed_by" not in unknown
    assert "No run here computed it" in unknown["mlflow.note.content"]


def test_a_run_whose_process_and_spool_are_gone_is_closed_by_the_next_pass(
    tracked_line: tuple[Params, Task],
) -> None:
    client = mlflow_client.connect()
    experiment = mlflow_client.get_or_create_experiment(client, "line")
    process = identify_process(os.getpid())
    pid, start, boot = process.split(" ")
    tags = {"host": socket.gethostname(), "plumbline.process": f"{pid} {int(start) - 1} {boot}"}
    here = {"plumbline.folder": str(Path.cwd())}
    copy = {"plumbline.folder": str(Path.cwd() / ".dvc/tmp/exps/tmpabc")}
    elsewhere = {"plumbline.folder": "/another/checkout"}
    alive, dead, experiment_run, other = (
        client.create_run(experiment, tags=each).info.run_id
        for each in (
            tags | here | {"plumbline.process": process},
            tags | here,  # its id was used again: by this process
            tags | copy,
            tags | elsewhere,
        )
    )
    with run_log.track_run(tracked_line[0], "register"):
        pass
    delivery.deliver()
    assert client.get_run(dead).info.status == "KILLED"
    assert client.get_run(experiment_run).info.status == "KILLED"
    assert client.get_run(alive).info.status == "RUNNING"
    assert client.get_run(other).info.status == "RUNNING"  # perhaps alive in another container


def test_what_cannot_be_recorded_of_a_run_does_not_end_the_stage(
    tracked_line: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The address is no address, the locks cannot be read, and nor can what the stage wrote."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow..example:5000")
    Path("requirements.lock").symlink_to(UNREADABLE)
    with caplog.at_level(logging.WARNING), run_log.track_run(tracked_line[0], "evaluate"):
        layout.EVIDENCE.parent.mkdir(exist_ok=True)
        layout.EVIDENCE.symlink_to(UNREADABLE)
    reasons = [record.message.partition(";")[0] for record in caplog.records]
    assert [reason.partition(" (")[0] for reason in reasons] == 3 * ["tracking stopped"]
    assert ["not a valid address" in reason for reason in reasons] == [False, True, False]
    Path("requirements.lock").unlink()
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert delivery.deliver().problem is None
    assert list_names()[-1] == ("evaluate", "FINISHED")


def test_a_store_that_is_away_costs_one_warning_and_loses_nothing(
    tracked_line: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", AWAY)
    with caplog.at_level(logging.WARNING):
        prepare(*tracked_line)
        train(*tracked_line, "closed")
    assert [record.message.partition(" (")[0] for record in caplog.records] == ["tracking stopped"]
    report = delivery.deliver()
    assert "127.0.0.1:9 is unreachable" in str(report.problem)
    assert report.num_waiting == 2
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert delivery.deliver() == delivery.DeliveryReport(2, 0, None)
    assert [name for name, _ in list_names()][1:] == ["ingest", "train closed"]
    assert find_run("train closed").data.metrics["bundle/num_bytes"] > 0


def test_what_mlflow_never_accepts_does_not_stop_the_rest(
    tracked_line: tuple[Params, Task],
) -> None:
    with run_log.track_run(tracked_line[0], "train", "gradient") as log:
        log.log_metrics({"loss of [a|b]": 1.0}, step=1)
        log.log_metrics({"loss": 1.0}, step=1)
    assert delivery.deliver().num_waiting == 0
    run = find_run("train gradient")
    assert run.data.metrics == {"loss": 1.0}
    assert "loss of [a|b]" in run.data.tags["plumbline.refused_by_mlflow"]


def test_nothing_is_logged_where_tracking_is_switched_off(
    tracked_line: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(run_log.SWITCH, "off")
    prepare(*tracked_line)
    assert spool.list_passes() == []


def test_a_disk_that_is_full_stops_no_stage(
    tracked_line: tuple[Params, Task],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "write_event", refuse)
    with caplog.at_level(logging.WARNING):
        prepare(*tracked_line)
    assert [record.message.count("No space left") for record in caplog.records] == [1]


@pytest.fixture
def repository(tracked_line: tuple[Params, Task]) -> Iterator[tuple[Params, Task]]:
    """The line's folder as a checkout under DVC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_ROOT", str(Path.cwd()))
        yield tracked_line


def test_the_digest_of_dvc_lock_is_that_which_dvc_writes_in_the_end(
    repository: tuple[Params, Task],
) -> None:
    lock = Path("dvc.lock")
    lock.write_text("stages: {}\n", encoding="utf-8")
    with run_log.track_run(repository[0], "register"):
        write_json(layout.REGISTRATION, {"version": "1"})
        write_json(layout.EVIDENCE, {})
    delivery.deliver()
    assert not [run for run in list_runs() if "plumbline.dvc_lock" in run.data.tags]
    lock.write_text(
        "stages:\n  register:\n    deps:\n"
        f"    - {{path: {layout.EVIDENCE}, md5: {digest_md5(layout.EVIDENCE)}}}\n    outs:\n"
        f"    - {{path: {layout.REGISTRATION}, md5: {digest_md5(layout.REGISTRATION)}}}\n",
        encoding="utf-8",
    )
    delivery.deliver()
    assert {run.data.tags["plumbline.dvc_lock"] for run in list_runs()} == {digest_path(lock)}
    assert spool.list_passes() == []


def digest_md5(path: Path) -> str:
    import hashlib

    return hashlib.md5(path.read_bytes()).hexdigest()  # noqa: S324  as DVC names files


def test_a_lock_that_never_comes_is_not_waited_for_without_end(
    repository: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_log.track_run(repository[0], "register"):
        pass
    delivery.deliver()
    assert len(spool.list_passes()) == 1
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    delivery.deliver()
    assert spool.list_passes() == []
