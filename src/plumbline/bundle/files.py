"""Open the files of a folder so that only plain files are read: no link, device or pipe."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, BufferedWriter
from pathlib import Path

from plumbline.bundle.seal_format import MAX_FILES, PACKAGE, SEAL
from plumbline.contract.errors import BundleError

MAX_BYTES = 16 << 30  # of all files of a bundle


@contextmanager
def open_files(folder: Path, label: Path | None = None) -> Iterator[dict[str, BufferedReader]]:
    """Open every file in `folder` once, by its name; BundleError names what a bundle may not hold.

    In errors the folder is called `label`.
    """
    label = label or folder
    no_seal = f"{label}: there is no {SEAL}; train the candidate (dvc repro)"
    with ExitStack() as stack:
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
            names = sorted(os.listdir(handle))  # noqa: PTH208  of the open folder, even if it is renamed meanwhile
            if SEAL not in names:
                raise BundleError(no_seal)
            places = {name: (name, handle) for name in names}
            if PACKAGE in names and _is_folder(PACKAGE, handle):
                inside = os.open(
                    PACKAGE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle
                )
                stack.callback(os.close, inside)
                del places[PACKAGE]
                for name in sorted(os.listdir(inside)):  # noqa: PTH208  as above
                    places[f"{PACKAGE}/{name}"] = name, inside
            if len(places) > MAX_FILES + 1:
                raise BundleError(f"{label}: {len(places)} files; a bundle has at most {MAX_FILES}")
            files = {}
            for name, place in places.items():
                files[name] = stack.enter_context(_open_file(label / name, *place))
        except (FileNotFoundError, NotADirectoryError):
            raise BundleError(no_seal) from None
        except OSError as error:
            raise BundleError(f"{label}: cannot be read ({error.strerror})") from None
        total = sum(map(measure_file, files.values()))
        if total > MAX_BYTES:
            raise BundleError(f"{label}: {total:,} bytes; a bundle has at most {MAX_BYTES:,}")
        yield files


def measure_file(file: BufferedReader) -> int:
    """The number of bytes in an open file."""
    return os.fstat(file.fileno()).st_size


def create_private_file(path: Path) -> BufferedWriter:
    """Create a file that only this user can read, and none change."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return BufferedWriter(os.fdopen(os.open(path, flags, 0o400), "wb", 0))


def _open_file(path: Path, name: str, folder: int) -> BufferedReader:
    """Open a file of the open folder; in errors it is called `path`."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    kind = _name_kind(status.st_mode)
    if kind:
        raise BundleError(f"{path}: {kind} does not belong to a bundle")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.fdopen(os.open(name, flags, dir_fd=folder), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        file.close()
        raise BundleError(
            f"{path}: hard-linked file ({status.st_nlink} names): a change through one name "
            "changes all; copy it instead"
        )
    return file


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _name_kind(mode: int) -> str:
    """What a thing in a folder is, if it is not a plain file."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a device, pipe or socket"
