"""The code that decides what a training ends in."""

from pathlib import Path

from plumbline.contract.task_packages import OWN, SOURCES, find_task_folder
from plumbline.process.files import digest_path, list_files

PACKAGE = Path(__file__).parents[1]
# Besides the loop: schedules, examples, and how a form or a threshold is chosen.
ROOMS = ("contract", "encoders", "process", "sources", "statistics", "tables", "training")


def digest_code(task: str) -> list[str]:
    """Return a digest of each file of code that decides what a training of `task` ends in."""
    return [digest_path(path) for path in list_code(task)]


def list_code(task: str) -> list[Path]:
    """List the files of the rooms that train, and of the task, wherever its folder is.

    With a task of the user's own, what is beside its folder counts too: it may import that. So does
    what the user adds to a task of plumbline.
    """
    folders = [PACKAGE / room for room in ROOMS]
    of_task = find_task_folder(task)
    if of_task is not None:
        is_own = of_task.parent.name == OWN and not of_task.is_relative_to(PACKAGE)
        folders += [of_task.parent] if is_own else [of_task, SOURCES / OWN / task]
    return list_files(folders)
