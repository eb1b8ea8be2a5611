"""How a file is written so that it is complete or not there, read again, and digested."""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, explain_damage
from plumbline.process.leftovers import make_aside_file
from plumbline.process.system_errors import name_path


@contextmanager
def write_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`; it replaces `path`, synced, if the block succeeds.

    What the system refuses, such as on a full disk, is raised as an OSError that names `path`,
    whatever library wrote the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with make_aside_file(path.parent, path.name) as aside:
            yield aside
            _sync_to_disk(aside)
            aside.replace(path)
            _sync_to_disk(path.parent)
    except PlumblineError:
        raise
    except Exception as error:
        refusal = name_path(error, path)
        if refusal is None:
            raise
        raise refusal from error


def write_json(path: Path, value: Any) -> None:
    """Write `value` as stable, strict JSON (sorted keys; NaN is an error)."""
    text = format_json(value)
    with write_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def format_json(value: Any) -> str:
    """Return the text that `write_json` writes."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text + "\n"


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote; ValueError where the text is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; ValueError where the text is not JSON, or of another kind."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  reported as any other damage
    return value


def read_output(path: Path, stage: str) -> dict[str, Any]:
    """Read a JSON object that a stage wrote; DataError, with how to make it again, for damage."""
    with explain_damage(path, f"run `dvc repro {stage}`"):
        return read_json_object(path)


def read_validation() -> dict[str, Any]:
    """Read reports/validation.json: whether data were accepted, and which; DataError for damage."""
    report = read_output(layout.VALIDATION, "validate")
    with explain_damage(layout.VALIDATION, "run `dvc repro validate`"):
        for check in report.get("checks", []):
            _ = check["name"], check["severity"], check["passed"]
    return report


def list_files(folders: Iterable[Path]) -> list[Path]:
    """List what somebody wrote in each of the folders, in order: code, or data beside it."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]


def publish(source: Path, target: Path) -> None:
    """Move a complete file or folder to `target` on the same disk, synced, in place of the old."""
    files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
    for file in files:
        _sync_to_disk(file)
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)
    _sync_to_disk(target.parent)


def extract_file(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a regular file of an archive below `folder`, with the rights that new files have here.

    Raises ValueError for a name that leads out of the folder. The filters of tarfile do the same,
    but Python before 3.11.4, such as Debian 12's, has none.
    """
    target = folder / member.name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{member.name!r} leads out of the folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name!r} is not a file")
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file)


def digest_path(path: Path) -> str:
    """Return the SHA-256 of a file, or of the sorted names and digests of the files in a folder."""
    return _digest_file(path) if path.is_file() else digest_files(path)


def digest_files(folder: Path) -> str:
    """Return the SHA-256 of the sorted names and digests of all files in a folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    total = hashlib.sha256()
    for name, file in sorted((file.relative_to(folder).as_posix(), file) for file in files):
        total.update(f"{name}\0{_digest_file(file)}\n".encode())
    return total.hexdigest()


def _digest_file(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        error.filename = str(path)
        raise


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(handle)
