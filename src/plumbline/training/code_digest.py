"""The code that decides what a training ends in."""

from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.task_packages import find_task_folder

ROOMS = ("contract", "sources", "training")  # schedules and examples come from the first two


def digest_code(task: str) -> list[str]:
    """Return a digest of each file of code that decides what a training of `task` ends in."""
    return [layout.digest(path) for path in list_code(task)]


def list_code(task: str) -> list[Path]:
    """List the files of the rooms that train, and of the task, wherever its folder is."""
    package = Path(__file__).parents[1]
    folders = [*(package / room for room in ROOMS), find_task_folder(task)]
    return [path for folder in folders if folder for path in sorted(folder.rglob("*.py"))]
