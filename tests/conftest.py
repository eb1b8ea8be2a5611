"""Checkouts shared by the tests of a module."""

import importlib
import shutil
import signal
from pathlib import Path

import pytest
from tests.support.checkouts import LINE, Checkout, make_checkout

from plumbline.contract.params import Params, read
from plumbline.contract.task import Task
from plumbline.entrypoint import load_task

pytest_plugins = ["tests.support.serving.fixtures"]

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # as in a shell's background, and in all that is started there
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository as it is."""
    made = make_checkout(tmp_path_factory.mktemp("checkout"))
    made.run("git", "add", "-A")
    made.run("git", "commit", "-qm", "start")
    return made


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository with one more folder under tasks/, and its params.yaml: all that a new task needs."""
    made = make_checkout(tmp_path_factory.mktemp("line"))
    shutil.copytree(
        LINE,
        made.path / "src/plumbline/tasks/line",
        ignore=shutil.ignore_patterns("params.yaml", "__pycache__"),
    )
    shutil.copy2(LINE / "params.yaml", made.path / "params.yaml")
    made.run("git", "add", "-A")
    made.run("git", "commit", "-qm", "a line")
    return made


@pytest.fixture
def line_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    """The line's parameters and record, in an empty folder."""
    import plumbline.tasks

    monkeypatch.setattr(plumbline.tasks, "__path__", [*plumbline.tasks.__path__, str(LINE.parent)])
    monkeypatch.chdir(tmp_path)
    shape = importlib.import_module("plumbline.tasks.line.params").SHAPE
    return read(LINE / "params.yaml", lambda _: shape), load_task("line")
