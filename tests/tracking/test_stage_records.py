"""What stages leave is in MLflow once and as a whole, also after a kill or while it was away."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.tracked_runs import (
    CURVE,
    find_run,
    follow_curve,
    list_names,
    list_runs,
    log_run,
    read_history,
    write_curve,
)

from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.entrypoint import run_tracked
from plumbline.process.files import digest_path, write_json
from plumbline.tracking import delivery, mlflow_client, records
from plumbline.tracking.records import OWN, RUNNING, RunFacts
from plumbline.tracking.stage_runs import show_progress, track_stage

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries
ROOT = Path(__file__).parents[2]
KILLED_STAGE = """
import os, signal
from pytest import MonkeyPatch
from tests.support.serving.models import line_task
from tests.support.tracked_runs import follow_curve
from plumbline.tracking.stage_runs import track_stage
with track_stage(line_task(MonkeyPatch())[0], "train", "gradient", follow_curve):
    os.kill(os.getpid(), signal.SIGKILL)
"""
NOTHING_TO_DO = """
import sys
from plumbline.tracking.delivery import deliver_meanwhile
with deliver_meanwhile():
    pass
assert "mlflow" not in sys.modules
"""


def prepare(params: Params, task: Task) -> None:
    """Ingest, and accept what there is."""
    run_tracked("ingest", params, task)
    digests = {"manifest": digest_path(layout.MANIFEST), "examples": digest_path(layout.EXAMPLES)}
    write_json(layout.VALIDATION, {"accepted": True, **digests})


def run_python(code: str) -> int:
    """Run a program as a process of its own; return its exit code."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode


@pytest.mark.slow
def test_each_seed_has_its_metrics_and_its_bundle(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    params, task = tracked_line
    config = params.candidates["gradient"].model_copy(update={"seeds": 3})
    seeded = params.model_copy(update={"candidates": {"gradient": config}})
    prepare(seeded, task)
    run_tracked("train", seeded, task, "gradient")
    assert delivery.deliver().problem is None
    run = find_run("train gradient")
    assert run.data.params["seed"] == "3"
    names = ("validation/loss", "seed/4/validation/loss", "seed/5/validation/loss")
    assert len({run.data.metrics[name] for name in names}) == 3
    assert run.data.metrics["train/seconds"] > 0
    kept = mlflow_client.connect().list_artifacts(run.info.run_id, "seed/5")
    assert [file.path for file in kept] == ["seed/5/bundle"]


def test_a_stage_is_a_child_of_its_pass_with_its_own_params_data_and_bundle(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    import mlflow.data

    prepare(*tracked_line)
    run_tracked("train", *tracked_line, "closed")
    assert delivery.deliver() == delivery.DeliveryReport()
    parent, child, trained = list_runs()
    assert {run.data.tags["mlflow.parentRunId"] for run in (child, trained)} == {parent.info.run_id}
    assert "mlflow.parentRunId" not in parent.data.tags
    keys = [run.data.tags["plumbline.run"] for run in (parent, child, trained)]
    assert keys[1:] == [f"{keys[0]}, ingest", f"{keys[0]}, train closed"]
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
    client = mlflow_client.connect()
    seal = layout.locate_bundle("closed") / "bundle.json"
    assert trained.data.tags["plumbline.bundle"] == digest_path(seal)
    (kept,) = client.list_artifacts(trained.info.run_id, "bundle")
    assert kept.path == "bundle/bundle.json"


def test_delivered_again_from_any_point_nothing_is_there_twice(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    """As if the process that delivers had been killed before it could remove what it wrote."""
    prepare(*tracked_line)
    run_tracked("train", *tracked_line, "gradient")
    kept = {path: path.read_bytes() for path in records.FOLDER.iterdir()}
    delivery.deliver()
    before = describe_store()
    assert [step for step, _ in before["metrics"]["train/loss"]] == [1, 2, 3, 4]
    for path, content in kept.items():
        path.write_bytes(content)
    deliveries = [threading.Thread(target=delivery.deliver) for _ in range(2)]
    for thread in deliveries:
        thread.start()
    for thread in deliveries:
        thread.join()
    assert delivery.list_waiting() == []
    assert describe_store() == before


def describe_store() -> dict[str, Any]:
    client = mlflow_client.connect()
    run = find_run("train gradient")
    return {
        "runs": list_names(),
        "metrics": {key: read_history("train gradient", key) for key in run.data.metrics},
        "datasets": len(run.inputs.dataset_inputs),
        "artifacts": [file.path for file in client.list_artifacts(run.info.run_id)],
    }


def test_a_training_that_goes_on_after_ctrl_c_goes_on_in_its_run(
    tracked_line: tuple[Params, Task],
) -> None:
    write_curve(CURVE)
    with (
        pytest.raises(KeyboardInterrupt),
        track_stage(tracked_line[0], "train", "gradient", follow_curve),
    ):
        raise KeyboardInterrupt
    delivery.deliver()
    assert [status for _, status in list_names()] == ["KILLED", "KILLED"]
    write_curve(CURVE + "3,0.25,0.5\n")  # the epoch after the last checkpoint is trained again
    with track_stage(tracked_line[0], "train", "gradient", follow_curve):
        pass
    assert list_names() == [(list_names()[0][0], "FINISHED"), ("train gradient", "FINISHED")]
    assert read_history("train gradient", "train/loss") == [(1, 1.0), (2, 0.5), (3, 0.25)]


def test_a_stage_at_work_is_running_and_its_curve_grows(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    shown: dict[Path, int] = {}
    with track_stage(tracked_line[0], "train", "gradient", follow_curve):
        delivery.deliver(shown)
        assert [status for _, status in list_names()] == ["RUNNING", "RUNNING"]
        write_curve(CURVE)
        show_progress(OWN.get(), follow_curve(RUNNING))
        delivery.deliver(shown)
        assert read_history("train gradient", "validation/loss") == [(1, 2.0), (2, 1.0)]
        # What did not change since is not sent again.
        before = list_runs()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
            assert delivery.deliver(shown).num_waiting == 0
        assert list_runs()[0].info.status == before[0].info.status == "RUNNING"
    delivery.deliver(shown)
    assert [status for _, status in list_names()] == ["FINISHED", "FINISHED"]


def test_a_stage_that_was_killed_is_killed_in_mlflow_and_goes_on_in_the_same_run(
    tracked_line: tuple[Params, Task],
) -> None:
    write_curve(CURVE)
    assert run_python(KILLED_STAGE) == -signal.SIGKILL
    with delivery.deliver_meanwhile():  # as the next `plumbline run` does
        pass
    assert [status for _, status in list_names()] == ["KILLED", "KILLED"]
    assert read_history("train gradient", "train/loss") == [(1, 1.0), (2, 0.5)]
    with track_stage(tracked_line[0], "train", "gradient", follow_curve):
        pass
    assert list_names() == [(list_names()[0][0], "FINISHED"), ("train gradient", "FINISHED")]


def test_a_failure_is_a_failed_run_that_says_why_and_the_end_of_its_pass(
    tracked_line: tuple[Params, Task],
) -> None:
    for _ in range(2):
        with (
            pytest.raises(RejectedError),
            track_stage(tracked_line[0], "validate", None, lambda _: RunFacts()),
        ):
            raise RejectedError("see https://u:hunter2@host/x")
    assert [status for _, status in list_names()] == ["FAILED"] * 4  # two passes
    assert "RejectedError: see https://host/x" in find_run("validate").data.tags["plumbline.end"]


def test_what_runs_after_a_registration_or_a_failure_is_another_pass(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    log_run(tracked_line[0], "evaluate")
    log_run(tracked_line[0], "register")
    log_run(tracked_line[0], "ingest")
    with (
        pytest.raises(RejectedError),
        track_stage(tracked_line[0], "validate", None, lambda _: RunFacts()),
    ):
        raise RejectedError
    log_run(tracked_line[0], "train", "gradient")
    delivery.deliver()
    names = ("evaluate", "register", "ingest", "validate", "train gradient")
    passes = [find_run(name).data.tags["mlflow.parentRunId"] for name in names]
    assert len(set(passes)) == 3
    assert (passes[0], passes[2]) == (passes[1], passes[3])


def test_a_run_that_waits_brings_stages_to_mlflow(
    tracked_line: tuple[Params, Task], waited: None
) -> None:
    params, _ = tracked_line
    assert run_python(NOTHING_TO_DO) == 0
    with delivery.deliver_meanwhile():
        tags = {"plumbline.verdict": "keep"}
        log_run(params, "evaluate", pass_metrics={"test/x": 1.0}, pass_tags=tags)
        assert delivery.list_waiting()  # the stage itself did not ask MLflow
    parent, _ = list_runs()
    assert parent.data.metrics == {"test/x": 1.0}
    assert parent.data.tags["plumbline.verdict"] == "keep"
    assert parent.info.run_name.endswith(": keep")  # the list of MLflow shows it without a column
