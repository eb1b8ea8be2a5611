"""`plumbline upgrade`: what a later plumbline writes otherwise comes into a user's repository.

The files as the older plumbline wrote them are the base of a three-way merge, which git makes: the
difference to what this plumbline writes is one commit, and `git cherry-pick` takes it. The older
files are not looked for in the history, which a squash or a shallow clone loses: the wheel in the
repository writes them again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.entrypoint import load_params
from plumbline.init.answers import RECORD, InitAnswers, TemplateRecord, read_record
from plumbline.init.git import call_git, choose_identity, try_git
from plumbline.init.rendering import render_repository
from plumbline.init.wheel import digest_contents, write_wheel
from plumbline.process.files import digest_path
from plumbline.process.lineage import REFUSED_OWNER

BRANCH = "plumbline-template"  # in the scratch clone


@dataclass(frozen=True)
class Upgrade:
    """What a merge did, or would do; no files: the repository has what is installed."""

    old: str  # versions
    new: str
    files: str  # as `git diff --stat` shows them
    params: list[str]  # lines of params.yaml that go (-) and come (+)
    conflicts: list[str]
    only_new: list[str]  # of the conflicts: the user deleted what the new version changed
    only_mine: list[str]  # of the conflicts: the new version deleted what the user changed
    problem: str  # of the merged params.yaml; empty: none


def check_upgrade(folder: Path) -> Upgrade:
    """Return what `upgrade_repository` would do; nothing is written in `folder`.

    Raises PlumblineError for a folder that cannot be upgraded.
    """
    with _prepare(folder) as prepared:
        record, clone = prepared
        if clone is None:
            return _describe_nothing(record)
        call_git(clone, "checkout", "--quiet", "--detach", call_git(folder, "rev-parse", "HEAD"))
        return _merge(clone, BRANCH, record)


def upgrade_repository(folder: Path) -> Upgrade:
    """Merge what this plumbline writes into `folder`, as one commit.

    Conflicts are left to the user, as git marks them. Raises PlumblineError, with nothing changed,
    for a folder that cannot be upgraded.
    """
    with _prepare(folder) as prepared:
        record, clone = prepared
        if clone is None:
            return _describe_nothing(record)
        call_git(folder, "fetch", "--quiet", "--no-tags", str(clone), BRANCH)
        return _merge(folder, "FETCH_HEAD", record)


@contextmanager
def _prepare(folder: Path) -> Iterator[tuple[TemplateRecord, Path | None]]:
    """Yield a clone of `folder` with the branch to merge; None where there is nothing to do.

    The branch has two commits: what the older plumbline wrote, and what this one writes.
    """
    record = read_record(folder)
    _require_clean(folder)
    old_wheel = _require_wheel(folder, record)
    _refuse_downgrade(record)
    answers = _read_answers(record, folder)
    with TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = write_wheel(scratch / "dist")
        if digest_contents(wheel) == digest_contents(old_wheel):
            yield record, None
            return
        clone = _clone(folder, scratch / "clone")
        _render_older(old_wheel, record, clone, scratch / "old")
        _commit_files(clone, f"plumbline {record.version}")
        _remove_files(clone)
        render_repository(clone, answers, wheel)
        _commit_files(clone, f"Upgrade plumbline from {record.version} to {version('plumbline')}")
        _keep_ignored_files(folder, clone)
        yield record, clone


def _read_answers(record: TemplateRecord, folder: Path) -> InitAnswers:
    try:
        return InitAnswers(**record.answers)
    except TypeError as error:  # a key that is missing, or that this version does not know
        raise PlumblineError(
            f"{folder / RECORD}: answers: not what plumbline wrote ({error}); "
            f"`git log -- {RECORD}` finds it"
        ) from None


def _require_clean(folder: Path) -> None:
    """Refuse a folder inside a git repository, and changes that are not committed."""
    top = try_git(folder, "rev-parse", "--show-toplevel")
    if REFUSED_OWNER in top.stderr:
        raise PlumblineError(
            f"{folder.absolute()} belongs to another user, so git refuses it; "
            f"run `git config --global --add safe.directory {folder.absolute()}`"
        )
    if top.returncode:
        raise PlumblineError(f"{folder.absolute()}: no git repository; run `git init` and commit")
    if Path(top.stdout.strip()).resolve() != folder.resolve():
        raise PlumblineError(
            f"{folder.absolute()}: not the top of its git repository, which is "
            f"{top.stdout.strip()}; a repository by `plumbline init` has to be one of its own"
        )
    if try_git(folder, "rev-parse", "--verify", "--quiet", "CHERRY_PICK_HEAD").returncode == 0:
        raise PlumblineError(
            "a cherry-pick is not finished; run `git cherry-pick --continue`, or `--abort`"
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


def _refuse_downgrade(record: TemplateRecord) -> None:
    installed = version("plumbline")
    if _parse_version(installed) < _parse_version(record.version):
        raise PlumblineError(
            f"plumbline {installed} is installed, and this repository is of {record.version}; "
            f"install that or a later one: pip install {record.wheel}"
        )


def _parse_version(text: str) -> list[int]:
    """Return the numbers of a release; those that are made before it count as the release."""
    release = re.match(r"\d+(\.\d+)*", text)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _describe_nothing(record: TemplateRecord) -> Upgrade:
    return Upgrade(record.version, record.version, "", [], [], [], [], "")


def _clone(folder: Path, clone: Path) -> Path:
    """Clone without files, at a branch without commits, where no hook and no signature is asked."""
    settings = (*choose_identity(folder), "-c", "core.hooksPath=/dev/null")
    settings += ("-c", "commit.gpgSign=false")
    call_git(folder, "clone", "--quiet", "--shared", "--no-checkout", *settings, ".", str(clone))
    call_git(clone, "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    return clone


def _render_older(wheel: Path, record: TemplateRecord, target: Path, site: Path) -> None:
    """Let the older plumbline, which is in `wheel`, write its files."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    command = [sys.executable, "-P", "-m", "plumbline.init.rendering", str(target)]
    done = subprocess.run(
        [*command, str(wheel.absolute())],
        input=json.dumps(record.answers),
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PlumblineError(f"{wheel.name} does not write its files: {done.stderr.strip()[-300:]}")


def _commit_files(clone: Path, message: str) -> None:
    call_git(clone, "add", "--all", "--force")
    call_git(clone, "commit", "--quiet", "--message", message)


def _remove_files(clone: Path) -> None:
    for path in clone.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _keep_ignored_files(folder: Path, clone: Path) -> None:
    """Refuse to write over a file that git ignores: git would take it for worthless."""
    added = call_git(
        clone, "diff", "--name-only", "--no-renames", "-z", "--diff-filter=A", "HEAD~1", "HEAD"
    )
    for path in filter(None, added.split("\0")):
        is_ignored = try_git(folder, "check-ignore", "--quiet", "--", path).returncode == 0
        if is_ignored and (folder / path).exists():
            raise PlumblineError(
                f"{path}: plumbline {version('plumbline')} brings a file of that name, and git "
                "ignores yours, so it would be lost; move it away, then run `plumbline upgrade`"
            )


def _merge(folder: Path, commit: str, record: TemplateRecord) -> Upgrade:
    # A conflict that git solves by itself, as one before, would be neither shown nor committed.
    options = (*choose_identity(folder), "-c", "rerere.autoUpdate=false")
    done = try_git(folder, *options, "cherry-pick", commit)
    conflicts = _show_diff(folder, "--name-only", "--diff-filter=U").splitlines()
    if done.returncode and not conflicts:
        try_git(folder, "cherry-pick", "--abort")
        raise PlumblineError(f"git cannot merge, and nothing was changed: {done.stderr.strip()}")
    before = "HEAD" if conflicts else "HEAD~1"
    return Upgrade(
        record.version,
        version("plumbline"),
        _show_diff(folder, "--stat=100", before),
        _list_params(folder, before),
        conflicts,
        _list_unmerged(folder, "DU"),
        _list_unmerged(folder, "UD"),
        "" if conflicts else _check_params(folder),
    )


def _show_diff(folder: Path, *options: str) -> str:
    plain = ("-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff")
    return call_git(folder, *plain, *options)


def _list_unmerged(folder: Path, state: str) -> list[str]:
    """List the files of a state: DU, deleted by the user alone, or UD, by the new version alone."""
    status = call_git(
        folder, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"
    ).split("\0")
    return [entry.removeprefix(f"{state} ") for entry in status if entry.startswith(f"{state} ")]


def _list_params(folder: Path, before: str) -> list[str]:
    lines = _show_diff(folder, "--unified=0", before, "--", str(layout.PARAMS)).splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


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
