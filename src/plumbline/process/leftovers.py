"""Temporary files and folders, and how those of a killed process are removed.

Whoever makes one holds a kernel lock on it, which ends with its process: what nobody holds is left
over. The ending of their names keeps them out of what DVC and git look at.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plumbline.contract.layout import TEMPORARY
from plumbline.process.locks import hold

# Where stages and decisions make them, relative to the top of a checkout.
FOLDERS = ("data", "models", "reports", "reports/training", ".plumbline")
NESTED = (".plumbline/*", ".plumbline/checkpoints/*")


@contextmanager
def make_aside_file(folder: Path, name: str) -> Iterator[Path]:
    """Yield an empty temporary file in `folder`, named after the file that it will replace."""
    aside = _name_aside(folder, name)
    handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        hold(handle)
        yield aside
    finally:
        os.close(handle)
        aside.unlink(missing_ok=True)


@contextmanager
def make_aside_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield an empty temporary folder in `folder`, which may be moved away."""
    aside = _name_aside(folder, name)
    aside.mkdir()
    handle = os.open(aside, os.O_RDONLY)
    try:
        hold(handle)
        yield aside
    finally:
        os.close(handle)
        shutil.rmtree(aside, ignore_errors=True)


def remove_checkout_leftovers() -> None:
    """Remove what killed processes left in the checkout that is the current folder."""
    here = Path()
    folders = [here, *map(Path, FOLDERS)]
    for pattern in NESTED:
        folders += here.glob(pattern)
    for folder in folders:
        remove_leftovers(folder)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of this user in `folder` that no process holds."""
    for path in folder.glob(f".*{TEMPORARY}"):
        with suppress(OSError):  # gone, or of somebody else
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            if not _is_held(path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _name_aside(folder: Path, name: str) -> Path:
    """Return a name of its own; unlike with `tempfile`, the umask decides who may read it."""
    return folder / f".{name}.{secrets.token_hex(8)}{TEMPORARY}"


def _is_held(path: Path) -> bool:
    """Whether a living process holds the lock on a temporary file or folder."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return not hold(handle, wait=False)
    finally:
        os.close(handle)
