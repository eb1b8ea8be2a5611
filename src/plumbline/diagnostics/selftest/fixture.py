"""A sound pipeline, small and complete, in its own folder; faults are planted in copies of it."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.faults import FaultsPart
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.entrypoint import list_tasks, load_params, load_task, run_stage

# Without these, a selftest uses a registry of its own, whose versions nobody has signed.
REGISTRY_VARIABLES = ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI", "PLUMBLINE_PUBLIC_KEY")


def read_settings() -> tuple[Params, Task[Params]]:
    """Return what params.yaml in the current folder says, and the task that it names."""
    params = load_params(layout.PARAMS)
    return params, load_task(params.task)


def get_candidate(params: Params) -> str:
    """Return the name of the one candidate of the fixture."""
    (candidate,) = params.candidates
    return candidate


def get_faults_part(task: Task[Params]) -> FaultsPart:
    """Return `task.faults`; raises ParamsError for a task without it."""
    if task.faults is None:
        others = [name for name in list_tasks() if load_task(name).faults is not None]
        raise ParamsError(
            f"the task {task.name} offers no faults to plant: it has no "
            f"src/plumbline/tasks/{task.name}/faults (see docs/add-a-task.md); "
            f"tasks that have it: {', '.join(others) or 'none'}"
        )
    return task.faults


def prepare_fixture(folder: Path, task: str) -> None:
    """Make `folder` a checkout with a weak champion, and a better candidate to evaluate."""
    part = get_faults_part(load_task(task))
    with enter_checkout(folder):
        subprocess.run(["git", "init", "--quiet"], check=True)
        layout.PARAMS.write_text(part.read_weak_fixture(), encoding="utf-8")
        _train_champion()
        layout.PARAMS.write_text(part.read_fixture(), encoding="utf-8")
        params, loaded = read_settings()
        run_stage("train", params, loaded, get_candidate(params))


def _train_champion() -> None:
    params, task = read_settings()
    watched = Path(params.data.watch)  # type: ignore[attr-defined]  # dvc.yaml: every task has it
    watched.mkdir(parents=True)
    candidate = get_candidate(params)
    run_stage("ingest", params, task)
    run_stage("validate", params, task)
    run_stage("train", params, task, candidate)
    run_stage("control", params, task, candidate)
    run_stage("evaluate", params, task)
    run_stage("register", params, task)


@contextlib.contextmanager
def enter_checkout(folder: Path) -> Iterator[None]:
    """Work in `folder`, with the registry and the journal that are in it."""
    removed = {name: os.environ.pop(name) for name in REGISTRY_VARIABLES if name in os.environ}
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.update(removed)


def copy_fixture(fixture: Path, folder: Path) -> Path:
    """Copy the fixture with its registry; the files of registered versions are shared."""

    def skip_artifacts(path: str, names: list[str]) -> set[str]:
        return {"artifacts"} if path.endswith("mlruns") else set()

    shutil.copytree(fixture, folder, ignore=skip_artifacts)
    return folder
