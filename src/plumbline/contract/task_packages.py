"""Where the package of a task is: in plumbline, in the repository's src/tasks, or installed.

Some tasks of plumbline are in the src/tasks of its own repository, as those of a user are. Where
plumbline is installed from a clone, they can be imported in any folder.
"""

import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from plumbline.contract.errors import ParamsError

BUILT_IN = "plumbline.tasks"
SOURCES = Path("src")  # of the repository; its package `tasks` has a folder for each own task
OWN = "tasks"
GROUP = "plumbline.tasks"  # of entry points: a task's name, and its package


def find_task_package(name: str) -> str | None:
    """Return the package of the task `name`; None if there is none.

    Tasks of the repository can be imported after it. Raises ParamsError where two have the name.
    """
    if name in _list_own():
        if name in _list_built_in():
            raise ParamsError(
                f"task {name!r}: {SOURCES / OWN / name} has the name of a task of plumbline; "
                "rename the folder"
            )
        if (SOURCES / OWN / name).is_dir():
            folder = str(SOURCES.resolve())
            if folder not in sys.path:
                sys.path.insert(0, folder)
        return f"{OWN}.{name}"
    if name in _list_built_in():
        return f"{BUILT_IN}.{name}"
    return _list_installed().get(name)


def find_task_folder(name: str) -> Path | None:
    """Return the folder with the code of the task `name`; None if there is none."""
    package = find_task_package(name)
    spec = find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def list_tasks() -> list[str]:
    """Return the names of all tasks that params.yaml may name."""
    return sorted({*_list_built_in(), *_list_own(), *_list_installed()})


def _list_built_in() -> set[str]:
    folders = import_module(BUILT_IN).__path__
    return set().union(*(_list_folders(Path(folder)) for folder in folders))


def _list_own() -> set[str]:
    spec = find_spec(OWN)
    folders = [SOURCES / OWN]
    if spec is not None:
        folders += map(Path, spec.submodule_search_locations or [])
    return set().union(*map(_list_folders, folders))


def _list_folders(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/task.py")}


def _list_installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=GROUP)}
