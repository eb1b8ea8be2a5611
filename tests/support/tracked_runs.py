"""A task with an empty MLflow beside it, and the runs that this MLflow then has."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.tracking import mlflow_client


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
