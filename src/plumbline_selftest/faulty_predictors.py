"""Faulty models: a bundle with another predictor in front, or with the files of another one.

`evaluate` refuses a bundle whose predictor is not the task's. To test the gates behind that
check, a fault of this kind changes the predictor of the task too, as a pull request could that
nobody read: in the checkout of the fault, TASK_PREDICTOR is the predictor of the task.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.files import read_json, write_json

WRAPPER = Path(__file__).with_name("wrapped_predictor.py")
TASK_PREDICTOR = Path(".plumbline/predictor")  # in the checkout of a fault
FOREIGN_PREDICTOR = Path(".plumbline/foreign")


def find_task_predictor(task: Task[Params]) -> Task[Params]:
    """Return `task` with the predictor of the checkout in the current folder, if it has one."""
    if not TASK_PREDICTOR.exists():
        return task
    return replace(task, predictor=TASK_PREDICTOR.resolve())


def wrap_predictor(
    task: Task[Params], candidate: str, code: Path, config: Mapping[str, Any]
) -> None:
    """Put `code` around the predictor of `candidate`, and a harmless wrapper around all others.

    The wrapper becomes the predictor of the task, so that only the faulty answers are a fault.
    """
    wrapped = _write_wrapper(task, TASK_PREDICTOR)
    for seal in sorted(layout.MODELS.rglob(bundle.SEAL)):
        if seal.parent != layout.locate_bundle(candidate):
            _seal_wrapped(wrapped, seal.parent)
    _plant_code(wrapped, candidate, code, config)


def plant_predictor(
    task: Task[Params], candidate: str, code: Path, config: Mapping[str, Any]
) -> None:
    """Put `code` around the predictor of `candidate` alone; it is not the task's any longer."""
    _plant_code(_write_wrapper(task, FOREIGN_PREDICTOR), candidate, code, config)


def exchange_bundle(candidate: str, other: Path) -> None:
    """Replace the bundle of `candidate` with the bundle in `other`."""
    shutil.rmtree(layout.locate_bundle(candidate))
    shutil.copytree(other, layout.locate_bundle(candidate))


def _write_wrapper(task: Task[Params], folder: Path) -> Task[Params]:
    """Write the package that wraps the task's predictor, and return the task with it."""
    if task.predictor.is_dir():
        shutil.copytree(task.predictor, folder)
        (folder / "__init__.py").rename(folder / "sound.py")
    else:
        folder.mkdir(parents=True)
        shutil.copy(task.predictor, folder / "sound.py")
    shutil.copy(WRAPPER, folder / "__init__.py")
    return replace(task, predictor=folder.resolve())


def _plant_code(
    wrapped: Task[Params], candidate: str, code: Path, config: Mapping[str, Any]
) -> None:
    folder = layout.locate_bundle(candidate)
    shutil.copy(code, folder / "faulty.py")
    write_json(folder / "faulty.json", dict(config))
    _seal_wrapped(wrapped, folder)


def _seal_wrapped(wrapped: Task[Params], folder: Path) -> None:
    """Seal the bundle in `folder` as train does, with the wrapper in front of its predictor."""
    (folder / "predictor.py").unlink(missing_ok=True)
    name = read_json(folder / bundle.SEAL)["candidate"]
    bundle.seal(folder, wrapped, name)
