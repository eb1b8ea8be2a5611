"""A checkout of the selftest: its settings, its registry, and copies of it."""

import contextlib
import functools
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline_selftest import faulty_predictors

# Where MLflow's database has absolute paths of files.
PATH_COLUMNS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
# Without these, a selftest uses a registry of its own, whose versions nobody has signed.
REGISTRY_VARIABLES = ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI", "PLUMBLINE_PUBLIC_KEY")


def read_settings() -> tuple[Params, Task[Params]]:
    """Return what params.yaml in the current folder says, and the task that it names.

    A fault may have changed the predictor of the task.
    """
    params = _parse_params(layout.PARAMS.read_text(encoding="utf-8"))
    return params, faulty_predictors.find_task_predictor(load_task(params.task))


@functools.lru_cache(maxsize=4)
def _parse_params(text: str) -> Params:
    """Read params.yaml, which has this text: half a second, and a plant asks several times."""
    return load_params(layout.PARAMS)


def get_candidate(params: Params) -> str:
    """Return the name of the candidate of the fixture; a plant may add others after it."""
    return next(iter(params.candidates))


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
    """Copy a checkout with its registry, which then has the paths of the copy."""
    shutil.copytree(fixture, folder, symlinks=True)
    database = folder / "mlruns" / "mlflow.db"
    if database.exists():
        _move_store(database, str(fixture), str(folder))
    return folder


def _move_store(database: Path, old: str, new: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        for table, column in PATH_COLUMNS:
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}, ?, ?)",  # noqa: S608  constants
                (old + "/", new + "/"),
            )
