"""Opens what is in a folder so that only plain files are read: no link is followed, no device or pipe is waited for."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, BufferedWriter
from pathlib import Path

from plumbline.bundle.sealing import MAX_FILES, SEAL
from plumbline.contract.errors import BundleError

MAX_BYTES = 16 << 30  # of all files of a bundle
CHUNK = 1 << 20


@contextmanager
def opened(folder: Path, named: Path | None = None) -> Iterator[dict[str, BufferedReader]]:
    """Every file in `folder` by its name, each opened once. BundleError names what does not belong in a bundle.

    In errors the folder is called `named`.
    """
    named = named or folder
    with ExitStack() as stack:
        try:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, place)
            names = sorted(os.listdir(place))  # noqa: PTH208  of the open folder, whatever is renamed meanwhile
            if SEAL not in names:
                raise BundleError(f"{named}: there is no {SEAL}; train the candidate (dvc repro)")
            if len(names) > MAX_FILES + 1:
                raise BundleError(f"{named}: {len(names)} files; a bundle has at most {MAX_FILES}")
            found = {
                name: stack.enter_context(_opened(named / name, name, place)) for name in names
            }
        except (FileNotFoundError, NotADirectoryError):
            raise BundleError(
                f"{named}: there is no {SEAL}; train the candidate (dvc repro)"
            ) from None
        except OSError as error:
            raise BundleError(f"{named}: cannot be read ({error.strerror})") from None
        if (total := sum(size(file) for file in found.values())) > MAX_BYTES:
            raise BundleError(f"{named}: {total:,} bytes; a bundle has at most {MAX_BYTES:,}")
        yield found


def size(file: BufferedReader) -> int:
    """Bytes in an open file."""
    return os.fstat(file.fileno()).st_size


def private(folder: Path) -> bool:
    """Whether nobody but this user and root can change what is in `folder`, or put another in its place."""
    try:
        inside = [entry.stat(follow_symlinks=False) for entry in os.scandir(folder)]
        path = folder.resolve()
        return all(map(_ours, [path.stat(), *inside])) and all(
            _keeps(parent.stat()) for parent in path.parents
        )
    except OSError:
        return False


def copy(folder: Path, target: Path) -> None:
    """Copy the plain files of `folder` into the new folder `target`, which is this user's alone, to be read only."""
    target.mkdir(mode=0o700)
    with opened(folder) as found:
        try:
            for name, file in found.items():
                left = size(file)
                with new(target / name) as kept:
                    while left and (chunk := file.read(min(CHUNK, left))):
                        kept.write(chunk)
                        left -= len(chunk)
        except OSError as error:
            raise BundleError(
                f"{folder}: cannot be copied to {target.parent} ({error.strerror})"
            ) from None


def new(path: Path) -> BufferedWriter:
    """A new file that only this user can read, and none change."""
    return BufferedWriter(
        os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o400), "wb", 0
        )
    )


def _opened(path: Path, name: str, place: int) -> BufferedReader:
    """A file of the folder that is open as `place`; `path` is how it is called in an error."""
    about = os.stat(name, dir_fd=place, follow_symlinks=False)
    kind = (
        "a link"
        if stat.S_ISLNK(about.st_mode)
        else "a folder"
        if stat.S_ISDIR(about.st_mode)
        else ""
    )
    if kind or not stat.S_ISREG(about.st_mode):
        raise BundleError(
            f"{path}: {kind or 'a device, pipe or socket'} does not belong to a bundle"
        )
    file = os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb")
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        file.close()
        raise BundleError(
            f"{path}: has {about.st_nlink} names (hard links): who changes one changes all; make a copy of it"
        )
    return file


def _ours(about: os.stat_result) -> bool:
    return about.st_uid in (os.geteuid(), 0) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _keeps(about: os.stat_result) -> bool:
    """Whether a folder above keeps its entries from others: in a sticky one, such as /tmp, only owners rename."""
    return _ours(about) or (
        about.st_uid in (os.geteuid(), 0) and bool(about.st_mode & stat.S_ISVTX)
    )
