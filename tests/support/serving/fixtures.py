"""The registry that the tests of serving share."""

import fcntl
import shutil
from pathlib import Path

import pytest
from tests.support.serving.lines import Lines, make
from tests.support.serving.load import read_history
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
    copy_databases(template, lines)
    return lines


@pytest.fixture
def lines(registered: Lines, template: Path) -> Lines:
    """That registry, with version 1 as champion and no canary that was returned."""
    if "return" in [entry.action for entry in read_history(registered)]:
        copy_databases(template, registered)
    registered.champion("1")
    return registered


def copy_databases(template: Path, lines: Lines) -> None:
    """Let registry and journal be those of the template."""
    for database in (template / "mlruns").glob("*.db"):
        shutil.copy2(database, lines.folder / "mlruns")


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry with the model `wide`."""
    return make_wide(tmp_path_factory.mktemp("wide"))
