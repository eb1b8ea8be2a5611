"""The parts of a task that only `plumbline selftest` and `plumbline drill` call, if it has them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline_selftest.protocol import DrillPart, FaultsPart


def find_faults(task: Task[Params]) -> FaultsPart | None:
    """Return what `plumbline selftest` plants; None if the task offers no such part."""
    part: FaultsPart | None = _import_part(task, "faults")
    return part


def find_drill(task: Task[Params]) -> DrillPart | None:
    """Return what `plumbline drill` works on; None if the task offers no such part."""
    part: DrillPart | None = _import_part(task, "drill")
    return part


def _import_part(task: Task[Params], name: str) -> Any:
    module = f"{task.package}.{name}"
    return import_module(module) if find_spec(module) else None
