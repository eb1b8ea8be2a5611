"""A server or an object store that fails during a registration: one version, the next run heals."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.effort import choose_effort
from tests.support.evidence import leave_line
from tests.support.faulty_proxy import Fault, FaultyProxy, run_proxy
from tests.support.mlflow_server import run_mlflow_server
from tests.support.s3_server import serve_bucket

from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.entrypoint import run_tracked
from plumbline.registry import model_versions, promotion
from plumbline.registry.reader import find_version
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.tracking import delivery, mlflow_client
from plumbline.tracking.runs import KEY_TAG

CREATING = ("runs/create", "logged-models", "runs/outputs", "model-versions/create")
pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def server(
    line_task: tuple[Params, Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultyProxy]:
    """An MLflow server behind a proxy, and a journal beside it."""
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{tmp_path}/journal.db")
    backend = f"sqlite:///{tmp_path}/mlflow.db"
    with run_mlflow_server(tmp_path, backend) as address, run_proxy(address) as proxy:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", proxy.address)
        yield proxy


@pytest.fixture
def bucket(
    line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultyProxy]:
    """A registry in SQLite whose files are in a bucket, behind a proxy."""
    with serve_bucket("mlflow", monkeypatch), run_proxy(os.environ["AWS_ENDPOINT_URL"]) as proxy:
        for name in ("AWS_ENDPOINT_URL", "MLFLOW_S3_ENDPOINT_URL"):
            monkeypatch.setenv(name, proxy.address)
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
        mlflow_client.connect().create_experiment("line", "s3://mlflow/artifacts")
        yield proxy


def test_what_a_server_did_without_an_answer_is_not_done_twice(
    server: FaultyProxy, line_task: tuple[Params, Task]
) -> None:
    for slope, path in enumerate(CREATING, start=2):
        leave_line(*line_task, slope)
        server.fail_at(1, "lost", f"POST /api/2.0/mlflow/{path}")
        register_under_fault(*line_task)
        assert server.is_met
        require_healed(server, line_task)
    client = model_versions.connect_registry()
    runs = client.search_runs([client.get_experiment_by_name("line").experiment_id])
    keys = [run.data.tags[KEY_TAG] for run in runs]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("fault", ["busy", "lost"])
def test_an_object_store_that_fails_at_any_request_gets_one_version(
    fault: Fault, bucket: FaultyProxy, line_task: tuple[Params, Task]
) -> None:
    number, slope = 3, 2.0
    refusals = []
    while True:
        leave_line(*line_task, slope)
        bucket.fail_at(number, fault)
        refusals.append(register_under_fault(*line_task))
        if not bucket.is_met:
            break
        require_healed(bucket, line_task)
        number, slope = number + choose_effort(30, 1), slope + 1
    assert "".join(refusals)


def test_an_object_store_that_is_away_is_not_taken_for_damaged(
    bucket: FaultyProxy, line_task: tuple[Params, Task]
) -> None:
    leave_line(*line_task, 2.0)
    run_tracked("register", *line_task)
    bucket.fail_at(1, "busy", lasts=True)
    faults = [result for result in check_registry(full=True) if not result.ok]
    assert len(faults) == 1
    for fault in faults:
        assert "cannot be fetched" in fault.message
        assert "backup" not in fault.remedy
    bucket.fail_at(0, "busy")
    assert all(result.ok for result in check_registry(full=True))


def list_versions() -> set[str]:
    """List the versions in the registry."""
    found = model_versions.connect_registry().search_model_versions("name = 'line'")
    return {str(version.version) for version in found}


def find_running() -> list[str]:
    """List the runs that are said to go on."""
    client = model_versions.connect_registry()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, "attributes.status = 'RUNNING'")
    return [run.info.run_name for run in runs]


def register_under_fault(params: Params, task: Task) -> str:
    """Register; return what was refused, which is one line, or nothing."""
    refusal = ""
    try:
        run_tracked("register", params, task)
    except PlumblineError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
    return refusal


def require_healed(proxy: FaultyProxy, line_task: tuple[Params, Task]) -> None:
    """Register again, without a fault: the winner is one more version, with one entry.

    Its number may be the next but one: what the fault left is removed, and no number given twice.
    """
    proxy.fail_at(0, proxy.fault)
    run_tracked("register", *line_task)
    numbers = sorted(list_versions(), key=int)
    entries = [entry.version for entry in promotion.read_history("line")]
    assert entries == [numbers[0], *numbers]  # the first one is also made champion
    bundles = [find_version(f"models:/line/{number}").tags[BUNDLE_TAG] for number in numbers]
    assert len(bundles) == len(set(bundles))
    assert delivery.deliver().problem is None
    assert find_running() == []
