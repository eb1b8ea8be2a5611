"""Outputs whose bytes are not those that dvc.lock records, and damaged objects of DVC's cache.

A file is read again only when its size, times or place changed since it was last read: the time of
a change (ctime) cannot be set back like that of the last write, which DVC looks at.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.recorded_outputs import (
    FOLDER_SUFFIX,
    RecordedOutput,
    hash_file,
    hash_output,
    read_outputs,
)
from plumbline.door.damaged import put_aside

TABLE = Path(".plumbline/read_files.json")
FileState = list[int]  # size, time of the last write, of the last change, and place


def repair_outputs(*, all_must_match: bool) -> list[str]:
    """Make DVC see what is damaged, and return a line for each damage that it would not have seen.

    A file that differs from dvc.lock gets a new time, so that DVC reads it again: it restores the
    file, or runs its stage again. A damaged object of the cache is put aside. A file that differs
    may have been edited, unless `all_must_match`, as after a run of all stages.
    """
    table = _ReadFiles()
    lines = []
    for output in _find_differences(table):
        path = Path(output.path)
        objects = _put_objects_aside(output)
        if not objects and (all_must_match or table.has_silent_change(path)):
            lines.append(f"{path}: its bytes are not those of {output.stage}; it is made again")
        for file in _list_paths(path):
            os.utime(file)
        lines += objects
    table.write()
    return lines


def _find_differences(table: "_ReadFiles") -> list[RecordedOutput]:
    different = []
    for output in read_outputs().values():
        path = Path(output.path)
        if path.exists() and hash_output(path, table.hash) != output.digest:
            different.append(output)
    return different


class _ReadFiles:
    """The digest of each file of the outputs, with the state that it had when it was read."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[FileState, str]] = {}
        if TABLE.exists():
            try:
                self._before = layout.read_json(TABLE)
            except ValueError:
                self._before = {}
        self._now: dict[str, tuple[FileState, str]] = {}

    def hash(self, path: Path) -> str:
        """Return the MD5 of a file; it is read unless it was before."""
        state = _read_state(path)
        known = self._before.get(str(path))
        digest = known[1] if known and known[0] == state else hash_file(path)
        self._now[str(path)] = (state, digest)
        return digest

    def has_silent_change(self, path: Path) -> bool:
        """Whether a file at or below `path` holds other bytes with the same size and time."""
        for file in _list_paths(path):
            before = self._before.get(str(file))
            now = self._now.get(str(file))
            if before and now and before[0][:2] == now[0][:2] and before[1] != now[1]:
                return True
        return False

    def write(self) -> None:
        if self._now != self._before:
            layout.write_json(TABLE, self._now)


def _read_state(path: Path) -> FileState:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _list_paths(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file())


def _put_objects_aside(output: RecordedOutput) -> list[str]:
    """Put aside the damaged objects from which DVC would restore an output."""
    lines = []
    cache = _find_cache()
    for digest, name in _list_objects(cache, output):
        path = cache / digest[:2] / digest[2:]
        if path.exists() and hash_file(path) != digest.removesuffix(FOLDER_SUFFIX):
            aside = put_aside(path)
            lines.append(f"the object of {name} in DVC's cache was damaged; it is {aside} now")
    return lines


def _list_objects(cache: Path, output: RecordedOutput) -> Iterator[tuple[str, str]]:
    """List the objects of an output: the digest and the name of each file, then its own."""
    listing = cache / output.digest[:2] / output.digest[2:]
    if output.digest.endswith(FOLDER_SUFFIX) and listing.exists():
        with suppress(ValueError, KeyError, TypeError):  # it is damaged itself
            for item in json.loads(listing.read_bytes()):
                yield item["md5"], f"{output.path}/{item['relpath']}"
    yield output.digest, output.path


def _find_cache() -> Path:
    from dvc.repo import Repo

    with Repo() as repo:
        return Path(repo.cache.local.path)
