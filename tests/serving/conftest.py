"""The registry that the tests of serving share."""

import fcntl
import importlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.checkouts import LINE
from tests.serving import oracle
from tests.serving.lines import Lines, make, register_as_measured

import plumbline.tasks
from plumbline.contract import Task
from plumbline.entrypoint import load_task
from plumbline.params import Params, read


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A registry with four versions of a line, made once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "registered-lines"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder, *_line_task(patch))
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
    lines = Lines(tmp_path_factory.mktemp("wide"))
    with pytest.MonkeyPatch.context() as patch, lines.here():
        params, task = _line_task(patch)
        named = params.model_copy(update={"registry": params.registry.model_copy(update={"model": "wide"})})
        predictor = Path(__file__).with_name("wide.py")
        row = {name: [value] for name, value in oracle.ROW.items()}
        wide = replace(task, signature=oracle.SIGNATURE, example=row, faulty={}, predictor=predictor)
        golden = {"inputs": row, "params": {}, "outputs": row | {"length": [1], "top_k": [3]}}
        register_as_measured(named, wide, {}, golden)
    return lines


def _line_task(patch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    patch.setattr(plumbline.tasks, "__path__", [*plumbline.tasks.__path__, str(LINE.parent)])
    shape = importlib.import_module("plumbline.tasks.line.params").SHAPE
    return read(LINE / "params.yaml", lambda _: shape), load_task("line")
