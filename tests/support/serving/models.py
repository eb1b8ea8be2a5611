"""What the tests of serving register: the task of a line, and a model with all column types."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import LINE
from tests.support.evidence import leave_winner
from tests.support.serving.lines import Lines

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


def make_wide(folder: Path) -> Lines:
    """A registry in `folder` with the model `wide`."""
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
