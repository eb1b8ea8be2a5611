"""`plumbline upgrade`: what plumbline writes otherwise comes into a user's repository.

The files as the older plumbline wrote them are the base of a three-way merge, file by file, by
`git merge-file`. They are not looked for in the history, which a squash or a shallow clone loses:
the wheel in the repository writes them again.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.loading import load_params
from plumbline.init.answers import RECORD, TemplateRecord, read_record
from plumbline.init.git import call_git
from plumbline.init.rendering import render_repository
from plumbline.init.repository_files import find_root, list_parts
from plumbline.init.wheel import digest_contents, write_wheel
from plumbline.process.files import digest_path

MOST_CONFLICTS = 127  # that `git merge-file` returns; it fails with more than that


@dataclass
class Upgrade:
    """What a merge did, or would do; no changes: the repository has what is installed."""

    old: str  # versions
    new: str
    changed: list[str] = field(default_factory=list)  # files, conflicts among them
    conflicts: list[str] = field(default_factory=list)  # where both sides are marked
    notes: dict[str, str] = field(default_factory=dict)  # what was decided about a file
    problem: str = ""  # of the merged params.yaml; empty: none


def upgrade_repository(folder: Path, *, check: bool = False, parts: Sequence[str] = ()) -> Upgrade:
    """Merge what this plumbline writes, or some parts of it, into the files of `folder`.

    What merges is staged, for the user to look at and commit; with `check`, nothing is. Raises
    PlumblineError, with nothing changed, for a folder that cannot be upgraded.
    """
    record = read_record(folder)
    _require_clean(folder)
    old_wheel = _require_wheel(folder, record)
    answers = record.answers
    result = Upgrade(record.version, version("plumbline"))
    with TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = write_wheel(scratch / "dist")
        is_same = digest_contents(wheel) == digest_contents(old_wheel)
        if not parts and is_same:
            return result
        if parts:
            _require_parts(parts, is_same, result)
            wheel = old_wheel
            answers = replace(answers, parts=sorted({*answers.parts, *parts}))
        old, new, merged = (scratch / each for each in ("old", "new", "merged"))
        _render_older(old_wheel, record, old, scratch / "site")
        render_repository(new, answers, wheel)
        for path in sorted(_list_files(old) | _list_files(new)):
            _merge_file(path, folder, old, new, merged, result)
        if not check:
            _write_changes(folder, merged, result)
    return result


def _require_parts(parts: Sequence[str], is_same: bool, result: Upgrade) -> None:
    known = list_parts(find_root())
    for part in parts:
        if part not in known:
            raise ParamsError(f"there is no part {part!r}; there are: {', '.join(known)}")
    if not is_same:
        raise PlumblineError(
            f"this repository is of plumbline {result.old}, and {result.new} with other files is "
            "installed; run `plumbline upgrade` and commit first"
        )


def _require_clean(folder: Path) -> None:
    """Refuse a folder inside a git repository, and changes that are not committed."""
    top = call_git(folder, "rev-parse", "--show-toplevel")
    if Path(top).resolve() != folder.resolve():
        raise PlumblineError(
            f"{folder.absolute()}: not the top of its git repository, which is {top}; a repository "
            "by `plumbline init` has to be one of its own"
        )
    changed = call_git(folder, "status", "--porcelain", "--untracked-files=no")
    if changed:
        first = changed.splitlines()[0].split(maxsplit=1)[1]
        raise PlumblineError(
            f"changes are not committed ({first}); commit them, or put them aside: `git stash`"
        )


def _require_wheel(folder: Path, record: TemplateRecord) -> Path:
    wheel = folder / record.wheel
    if not wheel.is_file() or digest_path(wheel) != record.sha256:
        raise PlumblineError(
            f"{record.wheel}: not the file with the SHA-256 that {RECORD} names "
            f"({record.sha256[:12]}...), from which the older files are made again; "
            f"`git log -- wheels` finds it: bring it back, commit, then run `plumbline upgrade`"
        )
    return wheel


def _render_older(wheel: Path, record: TemplateRecord, target: Path, site: Path) -> None:
    """Let the older plumbline, which is in `wheel`, write its files."""
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    command = [sys.executable, "-P", "-m", "plumbline.init.rendering", str(target)]
    done = subprocess.run(
        [*command, str(wheel.absolute())],
        input=json.dumps(record.written),
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PlumblineError(f"{wheel.name} does not write its files: {done.stderr.strip()[-300:]}")


def _list_files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def _merge_file(
    path: Path, folder: Path, old: Path, new: Path, merged: Path, result: Upgrade
) -> None:
    """Write what a file is to be into `merged`; nothing, for one that is to be deleted."""
    mine, base, theirs = (_read(each / path) for each in (folder, old, new))
    if theirs in (base, mine):
        return
    name = str(path)
    if base is not None and mine is None:
        result.notes[name] = "you deleted it, and the new version changed it: it stays deleted"
        return
    if theirs is None and mine != base:
        result.notes[name] = "you changed it, and the new version has no such file: it stays"
        return
    result.changed.append(name)
    if theirs is None:
        return
    (merged / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(new / path, merged / path)
    if mine in (None, base):
        return
    before = old / path if base is not None else Path(os.devnull)
    sides = [str(side) for side in (folder / path, before, new / path)]
    command = ["git", "merge-file", "-p", "-L", "yours", "-L", result.old, "-L", result.new]
    done = subprocess.run([*command, *sides], capture_output=True, check=False)
    if done.returncode > MOST_CONFLICTS:
        raise PlumblineError(f"{name}: not text, and yours differs; move it away")
    (merged / path).write_bytes(done.stdout)
    if done.returncode:
        result.conflicts.append(name)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write_changes(folder: Path, merged: Path, result: Upgrade) -> None:
    for name in result.changed:
        if (merged / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(merged / name, folder / name)
        else:
            (folder / name).unlink()
    staged = [name for name in result.changed if name not in result.conflicts]
    if staged:  # git takes no path for all paths
        call_git(folder, "add", "--all", "--force", "--", *staged)
    if str(layout.PARAMS) not in result.conflicts:
        result.problem = _check_params(folder)


def _check_params(folder: Path) -> str:
    """Return what is wrong with params.yaml for this plumbline; empty: nothing."""
    try:
        with chdir(folder):  # where the user's own task is found
            load_params(layout.PARAMS)
    except PlumblineError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  the code of the user's own task, which may not fit
        return f"its task cannot be imported: {type(error).__name__}: {error}"
    return ""
