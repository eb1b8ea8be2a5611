"""Open the files of a folder so that only plain files are read: no link, device or pipe."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path

from plumbline.bundle.seal_format import MAX_FILES, PACKAGE, SEAL
from plumbline.contract.errors import BundleError

MAX_BYTES = 16 << 30  # of all files of a bundle
KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder"}


@contextmanager
def open_files(folder: Path, label: Path | None = None) -> Iterator[dict[str, BufferedReader]]:
    """Open every file in `folder` once, by its name; BundleError names what a bundle may not hold.

    In errors the folder is called `label`.
    """
    label = label or folder
    with ExitStack() as stack:
        try:
            names = {path.relative_to(folder).as_posix() for path in _list_paths(folder)}
            if SEAL not in names:
                raise BundleError(f"{label}: there is no {SEAL}; train the candidate (dvc repro)")
            if len(names) > MAX_FILES + 1:
                raise BundleError(f"{label}: {len(names)} files; a bundle has at most {MAX_FILES}")
            files = {}
            for name in sorted(names):
                files[name] = stack.enter_context(_open_file(folder / name, label / name))
        except OSError as error:
            raise BundleError(f"{label}: cannot be read ({error.strerror})") from None
        total = sum(map(measure_file, files.values()))
        if total > MAX_BYTES:
            raise BundleError(f"{label}: {total:,} bytes; a bundle has at most {MAX_BYTES:,}")
        yield files


def measure_file(file: BufferedReader) -> int:
    """The number of bytes in an open file."""
    return os.fstat(file.fileno()).st_size


def _list_paths(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder, and in its folder `predictor`."""
    for path in folder.glob("*"):
        if path.name == PACKAGE and path.is_dir() and not path.is_symlink():
            yield from path.glob("*")
        else:
            yield path


def _open_file(path: Path, label: Path) -> BufferedReader:
    """Open a plain file; in errors it is called `label`."""
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "a device, pipe or socket")
        raise BundleError(f"{label}: {kind} does not belong to a bundle")
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")
