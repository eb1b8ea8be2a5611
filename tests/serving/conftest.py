"""The registry that the tests of serving share."""

import fcntl
import importlib
import shutil
from pathlib import Path

import pytest
from tests.checkouts import LINE
from tests.serving.lines import Lines, make

import plumbline.tasks
from plumbline.entrypoint import load_task
from plumbline.params import read


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A registry with four versions of a line, made once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "registered-lines"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            patch.setattr(plumbline.tasks, "__path__", [*plumbline.tasks.__path__, str(LINE.parent)])
            shape = importlib.import_module("plumbline.tasks.line.params").SHAPE
            make(folder, read(LINE / "params.yaml", lambda _: shape), load_task("line"))
            (folder / "made").touch()
    return folder


@pytest.fixture(scope="session")
def registered(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """That registry for this process alone: its own databases, the same packages."""
    lines = Lines(tmp_path_factory.mktemp("lines"))
    (lines.folder / "mlruns").mkdir()
    for database in (template / "mlruns").glob("*.db"):
        shutil.copy2(database, lines.folder / "mlruns")
    return lines


@pytest.fixture
def lines(registered: Lines) -> Lines:
    """That registry, with version 1 as champion."""
    registered.champion("1")
    return registered
