"""The files of plumbline's repository that a user's is made of, and those that only a wheel has."""

import shutil
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.contract.task_packages import BUILT_IN, OWN, find_task_folder, find_task_package
from plumbline.process.files import digest_path, list_files, publish, write_json
from plumbline.process.leftovers import make_aside_folder

CARRIED = Path(__file__).parent / "repository"  # in a wheel: setup.py
CHECKOUT = Path(__file__).parents[3]
PROJECT = "pyproject.toml"
TASKS = Path("src/tasks")


def find_root() -> Path:
    """Return the folder that has the files: inside a wheel, or the source checkout."""
    for root in (CARRIED, CHECKOUT):
        if (root / PROJECT).is_file() and (root / "template").is_dir():
            return root
    raise PlumblineError(
        f"{CARRIED}: no such folder: this installation of plumbline has no templates; install the "
        "wheel that `make dist` builds"
    )


def find_pages() -> dict[str, Path]:
    """Return the pages of the documentation by name."""
    return {path.stem: path for path in sorted((find_root() / "docs").rglob("*.md"))}


def find_recipes() -> dict[str, Path]:
    """Return plumbline's recipes by name."""
    return {path.stem: path for path in sorted((find_root() / "recipes").glob("*.yaml"))}


def copy_task(task: str) -> None:
    """Write plumbline's src/tasks/TASK where a repository by `plumbline init` has no file of it.

    It is the user's from then on, as a task of their own.
    """
    root, folder = find_root(), TASKS / task
    carried = [path for path in list_carried(root) if path.is_relative_to(folder)]
    kept = [path for path in list_files([folder]) if path.name != "README.md"]
    if not carried or not TASKS.is_dir() or kept:
        return
    with make_aside_folder(TASKS, task) as aside:
        for path in carried:
            copy = aside / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, copy)
        publish(aside, folder)


def ensure_task_folder(task: str) -> None:
    """Write src/tasks/TASK where the task is an installed one: stages depend on that folder.

    It says what the code of an installed package is: another version runs the stages again.
    """
    package, code = find_task_package(task), find_task_folder(task)
    if code is None or package in (f"{OWN}.{task}", f"{BUILT_IN}.{task}") or not TASKS.is_dir():
        return
    files = {path.relative_to(code).as_posix(): digest_path(path) for path in list_files([code])}
    (TASKS / task).mkdir(exist_ok=True)
    write_json(TASKS / task / "installed.json", files)


def list_carried(root: Path, part: str | None = None) -> list[Path]:
    """List the files that a wheel carries, or those of a part, relative to `root`."""
    table = _read_table(root)
    chosen = [table["parts"][part]] if part else [table["carried"], *table["parts"].values()]
    paths = {path for pattern in chain(*chosen) for path in root.glob(pattern)}
    return sorted(
        path.relative_to(root) for path in paths if path.is_file() and path.suffix != ".pyc"
    )


def list_parts(root: Path) -> list[str]:
    """List what `plumbline upgrade --add` can bring into a repository."""
    return list(_read_table(root)["parts"])


def _read_table(root: Path) -> dict[str, Any]:
    project = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))
    table: dict[str, Any] = project["tool"]["plumbline"]
    return table
