"""What dvc.lock records of the pipeline's outputs, compared with the bytes on disk.

DVC itself trusts a file whose size and time are those that it has seen, and an object of its cache
that is read-only: a flipped bit in either is "up to date".
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

DVC_LOCK = Path("dvc.lock")
IGNORE = Path(".dvcignore")
FOLDER_SUFFIX = ".dir"  # of the digest of a folder


@dataclass(frozen=True)
class RecordedOutput:
    """An output as dvc.lock records it."""

    path: str
    stage: str
    digest: str  # MD5; that of a folder is of the list of its files, and ends with .dir


def read_outputs(lock: Path = DVC_LOCK) -> dict[str, RecordedOutput]:
    """Return the outputs in dvc.lock by path; none where there is no such file.

    Raises ValueError for a file that is not a dvc.lock.
    """
    outputs = {}
    for stage, content in _read_stages(lock).items():
        for out in content.get("outs", ()):
            if "md5" in out:
                outputs[out["path"]] = RecordedOutput(out["path"], stage, out["md5"])
    return outputs


def hash_file(path: Path) -> str:
    """Return the MD5 of a file, as DVC computes it."""
    with path.open("rb") as file:
        # What an accident changes is found; what an attacker exchanges has its SHA-256 in a seal.
        return hashlib.file_digest(file, _create_md5).hexdigest()


def hash_output(path: Path, hash_each: Callable[[Path], str] = hash_file) -> str:
    """Return the digest of a file or folder, as dvc.lock records it; each file is read once."""
    if path.is_file():
        return hash_each(path)
    return hash_listing({name: hash_each(path / name) for name in list_files(path)})


def hash_listing(digests: dict[str, str]) -> str:
    """Return DVC's digest of a folder from those of its files, by relative path."""
    listing = [{"md5": digests[name], "relpath": name} for name in sorted(digests)]
    content = json.dumps(listing, sort_keys=True).encode()
    return hashlib.md5(content, usedforsecurity=False).hexdigest() + FOLDER_SUFFIX


def list_files(folder: Path) -> Iterator[str]:
    """List the files that DVC sees in a folder, by relative path."""
    ignored = _read_ignored()
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not _is_ignored(name, ignored)]
        for name in files:
            if not _is_ignored(name, ignored):
                yield (Path(place) / name).relative_to(folder).as_posix()


def _read_stages(lock: Path) -> dict[str, Any]:
    try:
        content = lock.read_bytes()
    except FileNotFoundError:
        return {}
    return _parse_stages(content, lock)


@lru_cache(maxsize=4)
def _parse_stages(text: bytes, lock: Path) -> dict[str, Any]:
    """Parse a dvc.lock; `plumbline run` asks for it several times, a tenth of a second each."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content = YAML(typ="safe").load(text)
    except YAMLError as error:
        raise ValueError(f"{lock}: not valid YAML") from error
    stages = content.get("stages") if isinstance(content, dict) else None
    if not isinstance(stages, dict):
        raise ValueError(f"{lock}: has no stages")  # noqa: TRY004  its content, not its type
    return stages


def _read_ignored() -> list[str]:
    """Return the patterns of .dvcignore, each of which is that of a name."""
    if not IGNORE.exists():
        return []
    lines = IGNORE.read_text(encoding="utf-8").splitlines()
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def _is_ignored(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _create_md5() -> Any:
    return hashlib.md5(usedforsecurity=False)
