"""A task with an empty MLflow beside it, and the runs that this MLflow then has."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_curve
from plumbline.process.checkout_lock import RUN_ID
from plumbline.tracking import mlflow_client
from plumbline.tracking.records import RunFacts
from plumbline.tracking.stage_runs import track_stage

CURVE = "epoch,train/loss,validation/loss\n1,1.0,2.0\n2,0.5,1.0\n"


@pytest.fixture(scope="module")
def mlflow_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of MLflow, which takes seconds to make."""
    root = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        mlflow_client.connect().search_experiments()
    return root / "mlruns/mlflow.db"


@pytest.fixture
def tracked_line(
    line_task: tuple[Params, Task], mlflow_database: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Params, Task]:
    """The line in a folder with an empty MLflow."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    Path("mlruns").mkdir()
    shutil.copy(mlflow_database, "mlruns/mlflow.db")
    return line_task


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is waiting, which delivers: stages need not do so."""
    monkeypatch.setenv(RUN_ID, "a run")


def list_runs() -> list[Any]:
    """All runs of MLflow, the pass first."""
    client = mlflow_client.connect()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    return list(client.search_runs(experiments, order_by=["attributes.start_time ASC"]))


def list_names() -> list[tuple[str, str]]:
    """The name and status of each."""
    return [(run.info.run_name, run.info.status) for run in list_runs()]


def find_run(name: str) -> Any:
    """The first run of that name."""
    return next(run for run in list_runs() if run.info.run_name == name)


def log_run(own: Params, stage: str, candidate: str | None = None, **facts: Any) -> None:
    """Record a run of a stage that does nothing."""
    with track_stage(own, stage, candidate, lambda _: RunFacts(**facts)):
        pass


def follow_curve(_: str) -> RunFacts:
    """The facts of a training: its curve."""
    facts = RunFacts(params={"learning_rate": 0.05})
    facts.add_curve(locate_curve("gradient"))
    return facts


def write_curve(text: str) -> None:
    """Write the curve of that training."""
    layout.TRAINING.mkdir(parents=True, exist_ok=True)
    locate_curve("gradient").write_text(text, encoding="utf-8")


def read_history(name: str, key: str) -> list[tuple[int, float]]:
    """The epochs of a metric of the run of that name, each with its value."""
    run = find_run(name)
    points = mlflow_client.connect().get_metric_history(run.info.run_id, key)
    return [(point.step, point.value) for point in points]
