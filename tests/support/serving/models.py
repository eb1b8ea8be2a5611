"""The registries that tests of serving share: versions of a line, a model of all column types."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import LINE
from tests.support.evidence import leave_line, leave_winner
from tests.support.made_once import make_once
from tests.support.racing import copy_databases
from tests.support.serving.lines import SLOPES, Lines
from tests.support.serving.load import read_history

from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.params_file import read_params
from plumbline.contract.task import Field, Param, Signature, Task
from plumbline.entrypoint import run_tracked

FILE = "weights.json"
# The model `wide` answers with its inputs, one of every kind.
NUMBERS = {"type": "array", "items": {"type": "double"}}
INPUTS = {"text": "string", "count": "long", "ratio": "double", "yes": "boolean", "marks": NUMBERS}
ROW = {"text": "a", "count": 1, "ratio": 0.5, "yes": True, "marks": [1.0, 2.0]}
FIELDS = tuple(Field(name, kind) for name, kind in INPUTS.items())
SIGNATURE = Signature(
    inputs=FIELDS,
    outputs=(*FIELDS, Field("length", "long"), Field("top_k", "long")),
    params=(Param("top_k", "integer", 3),),
)


def line_task(patch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    """The task of a line, known to this process for as long as `patch` holds."""
    patch.setattr(sys, "path", [*sys.path, str(LINE.parents[1])])
    shape = importlib.import_module("tasks.line.params").PARAMS
    return read_params(LINE / "params.yaml", lambda _: shape), load_task("line")


@pytest.fixture(name="line_task")
def line_task_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    """The line's parameters and record, in an empty folder."""
    return line_task(monkeypatch)


def register_lines(folder: Path) -> None:
    """Register the versions of a line in `folder` as `register` does."""
    with pytest.MonkeyPatch.context() as patch, Lines(folder).here():
        params, task = line_task(patch)
        first, *others = SLOPES.values()
        digest = leave_line(params, task, first)
        run_tracked("register", params, task)
        measured = {"version": "1", "bundle": digest}
        moody = replace(task, predictor=Path(__file__).with_name("moody.py"), faulty={})
        for slope, other in (*((slope, task) for slope in others), (2.0, moody)):
            leave_line(params, other, slope, measured)
            run_tracked("register", params, other)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A registry with four versions of a line, made once for all processes that run tests."""
    return make_once(tmp_path_factory, worker_id, "registered-lines", register_lines)


@pytest.fixture(scope="session")
def registered(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """That registry for this process alone: its own databases, the same packages."""
    lines = Lines(tmp_path_factory.mktemp("lines"))
    copy_databases(template / "mlruns", lines.path / "mlruns")
    return lines


@pytest.fixture
def lines(registered: Lines, template: Path) -> Lines:
    """That registry, with version 1 as champion and no canary that was returned."""
    if "return" in [entry.action for entry in read_history(registered)]:
        copy_databases(template / "mlruns", registered.path / "mlruns")
    registered.champion("1")
    return registered


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry with the model `wide`."""
    folder = tmp_path_factory.mktemp("wide")
    row = {name: [value] for name, value in ROW.items()}
    with pytest.MonkeyPatch.context() as patch, Lines(folder).here():
        wide = replace(
            line_task(patch)[1],
            signature=SIGNATURE,
            example=row,
            faulty={},
            predictor=Path(__file__).with_name("wide.py"),
        )
        register_other("wide", wide, {}, row | {"length": [1], "top_k": [3]})
    return Lines(folder)


def register_other(
    name: str, task: Task, weights: dict[str, Any], outputs: dict[str, Any], file: str = FILE
) -> None:
    """Register the line's task with another model, whose answer to its example is `outputs`."""
    with pytest.MonkeyPatch.context() as patch:
        params, _ = line_task(patch)
        registry = params.registry.model_copy(update={"model": name})
        golden = {"inputs": task.example, "params": {}, "outputs": outputs}
        named = params.model_copy(update={"registry": registry})
        leave_winner(named, task, weights, golden, name=file)
        run_tracked("register", named, task)
