"""Outputs whose bytes are not those that dvc.lock records, and damaged objects of DVC's cache.

A file is read again only when its size, times or place changed since it was last read: the time of
a change (ctime) cannot be set back like that of the last write, which DVC looks at.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.recorded_outputs import (
    FOLDER_SUFFIX,
    RecordedOutput,
    hash_file,
    hash_output,
    read_outputs,
)
from plumbline.pipeline_run.damaged import put_aside

TABLE = Path(".plumbline/read_files.json")
# Of a file: its size, the time of its last write, of its last change, its place; and its MD5.
FileRecord = list[int | str]


def repair_outputs(*, all_must_match: bool) -> list[str]:
    """Make DVC see what is damaged, and return a line for each damage that it would not have seen.

    A file that differs from dvc.lock gets a new time, so that DVC reads it again: it restores the
    file, or runs its stage again. A damaged object of the cache is put aside. A file that differs
    may have been edited, unless `all_must_match`, as after a run of all stages.
    """
    table = _ReadFiles()
    lines = []
    for output in _find_differences(table, with_absent=not all_must_match):
        path = Path(output.path)
        objects = _put_objects_aside(output, table)
        is_damage = all_must_match or table.has_silent_change(path)
        if is_damage and not objects:
            lines.append(f"{path}: its bytes are not those of {output.stage}; it is made again")
        for file in _list_paths(path):
            os.utime(file)
        lines += objects
    table.write()
    return lines


def put_listings_aside() -> list[str]:
    """Put aside damaged lists of a folder's files in the cache, over which DVC stumbles."""
    lines = []
    for path in sorted(_find_cache(Path.cwd()).glob(f"*/*{FOLDER_SUFFIX}")):
        if hash_file(path) != path.parent.name + path.name.removesuffix(FOLDER_SUFFIX):
            lines.append(f"a folder's list in DVC's cache was damaged; it is {put_aside(path)} now")
    return lines


def _find_differences(table: "_ReadFiles", *, with_absent: bool) -> list[RecordedOutput]:
    """Find the outputs that differ from dvc.lock; those that are absent DVC will restore."""
    different = []
    for output in read_outputs().values():
        path = Path(output.path)
        if path.exists():
            is_different = hash_output(path, table.hash) != output.digest
        else:
            is_different = with_absent
        if is_different:
            different.append(output)
    return different


class _ReadFiles:
    """The digest of each file of the outputs, with the state that it had when it was read."""

    def __init__(self) -> None:
        self._before: dict[str, FileRecord] = {}
        # A table that is damaged is one that is not there.
        with suppress(OSError, ValueError, TypeError):
            self._before = {
                name: [*record] for name, record in dict(layout.read_json(TABLE)).items()
            }
        self._now: dict[str, FileRecord] = {}

    def hash(self, path: Path) -> str:
        """Return the MD5 of a file; it is read unless it was before."""
        state = _read_state(path)
        known = self._before.get(str(path))
        digest = str(known[-1]) if known and known[:-1] == state else hash_file(path)
        self._now[str(path)] = [*state, digest]
        return digest

    def has_silent_change(self, path: Path) -> bool:
        """Whether a file at or below `path` holds other bytes with the same size and time."""
        for file in _list_paths(path):
            before = self._before.get(str(file))
            now = self._now.get(str(file))
            if before and now and before[:2] == now[:2] and before[-1] != now[-1]:
                return True
        return False

    def write(self) -> None:
        """Write what is known now of the files that are there."""
        known = {**self._before, **self._now}
        known = {name: entry for name, entry in known.items() if Path(name).exists()}
        if known != self._before:
            layout.write_json(TABLE, known)


def _read_state(path: Path) -> FileRecord:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _list_paths(path: Path) -> list[Path]:
    """List a file, or the files in a folder; nothing where there is neither."""
    if path.is_file():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file())


def _put_objects_aside(output: RecordedOutput, table: _ReadFiles) -> list[str]:
    """Put aside the damaged objects from which DVC would restore an output."""
    lines = []
    objects = _find_cache(Path.cwd())
    for digest, name in _list_objects(objects, output):
        path = objects / digest[:2] / digest[2:]
        if path.exists() and table.hash(path) != digest.removesuffix(FOLDER_SUFFIX):
            aside = put_aside(path)
            lines.append(f"the object of {name} in DVC's cache was damaged; it is {aside} now")
    return lines


def _list_objects(objects: Path, output: RecordedOutput) -> Iterator[tuple[str, str]]:
    """List the objects of an output: the digest and the name of each file, then its own."""
    listing = objects / output.digest[:2] / output.digest[2:]
    if output.digest.endswith(FOLDER_SUFFIX) and listing.exists():
        with suppress(ValueError, KeyError, TypeError):  # it is damaged itself
            for item in json.loads(listing.read_bytes()):
                yield item["md5"], f"{output.path}/{item['relpath']}"
    yield output.digest, output.path


@cache
def _find_cache(checkout: Path) -> Path:
    from dvc.repo import Repo

    with Repo(str(checkout)) as repo:
        return Path(repo.cache.local.path)
