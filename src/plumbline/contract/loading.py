"""Load params.yaml and the task that it names, wherever the code of that is."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

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
    params_class: type[Params] = _import_module(name, "params", f"{layout.PARAMS}: task: ").PARAMS
    return params_class


def load_task(name: str) -> Task[Params]:
    """Return `TASK` of the task `name`; ParamsError if there is none."""
    task: Task[Params] = _import_module(name, "task").TASK
    return task


def _import_module(name: str, module: str, place: str = "") -> ModuleType:
    package = find_task_package(name)
    if package is None:
        known = list_tasks()
        hint = suggest_nearest(name, known) or (
            f"; known: {', '.join(known)}; `plumbline recipe NAME --use` brings the code of "
            "others, `plumbline recipe` names them"
        )
        raise ParamsError(f"{place}there is no task {name!r}{hint}")
    try:
        return import_module(f"{package}.{module}")
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ParamsError(
            f"{place}{package} cannot be imported ({error}): if another program's `tasks` comes "
            "first, take that off PYTHONPATH, or uninstall it"
        ) from None
