"""Load params.yaml and the task that it names, wherever the code of that is."""

from importlib import import_module
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.params_file import read_params
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import Task
from plumbline.contract.task_packages import find_task_package, list_tasks


def load_params(path: Path) -> Params:
    """Read and check `path` for the task that it names."""
    return read_params(path, load_params_class)


def load_params_class(name: str) -> type[Params]:
    """Return the class of the params of the task `name`; ParamsError if there is no such task."""
    package = find_task_package(name)
    if package is None:
        raise ParamsError(f"{layout.PARAMS}: task: there is no task {name!r}{_suggest_task(name)}")
    params_class: type[Params] = import_module(f"{package}.params").PARAMS
    return params_class


def load_task(name: str) -> Task[Params]:
    """Return `TASK` of the task `name`; ParamsError if there is none."""
    package = find_task_package(name)
    if package is None:
        raise ParamsError(f"there is no task {name!r}{_suggest_task(name)}")
    task: Task[Params] = import_module(f"{package}.task").TASK
    return task


def _suggest_task(name: str) -> str:
    known = list_tasks()
    return suggest_nearest(name, known) or (
        f"; known: {', '.join(known)}; `plumbline recipe use NAME` brings the code of others, "
        "`plumbline recipe list` names them"
    )
