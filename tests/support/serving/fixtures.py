"""The registry that the tests of serving share."""

import fcntl
import shutil
from pathlib import Path

import pytest
from tests.support.serving.lines import Lines, make
from tests.support.serving.models import line_task, make_wide


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A registry with four versions of a line, made once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "registered-lines"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder, *line_task(patch))
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


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry with the model `wide`."""
    return make_wide(tmp_path_factory.mktemp("wide"))
