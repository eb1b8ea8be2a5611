"""The parts of a task that only `plumbline selftest` calls, if it has them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.task_packages import find_task_package, list_tasks
from plumbline_selftest.protocol import DrillPart, FaultsPart


def get_faults_part(task: Task[Params]) -> FaultsPart:
    """Return what `plumbline selftest` plants; raises ParamsError for a task without it."""
    part: FaultsPart = _import_part(task, "faults", "faults to plant")
    return part


def read_params(part: FaultsPart, *, weaker: bool = False) -> str:
    """Return the params.yaml of a task's small pipeline, or of the champion that it has to beat."""
    text = part.PARAMS.read_text(encoding="utf-8")
    if weaker:
        for old, new in part.WEAKER.items():
            text = text.replace(old, new)
    return text


def get_drill_part(task: Task[Params]) -> DrillPart:
    """Return what the drill works on; raises ParamsError for a task without it."""
    part: DrillPart = _import_part(task, "drill", "drill")
    return part


def _import_part(task: Task[Params], name: str, offer: str) -> Any:
    if find_spec(f"{task.package}.{name}"):
        return import_module(f"{task.package}.{name}")
    packages = {other: find_task_package(other) for other in list_tasks()}
    others = [other for other, package in packages.items() if find_spec(f"{package}.{name}")]
    raise ParamsError(
        f"the task {task.name} offers no {offer}: it has no {task.package}.{name} "
        f"(see `plumbline docs add-a-task`); tasks that have it: {', '.join(others) or 'none'}"
    )
