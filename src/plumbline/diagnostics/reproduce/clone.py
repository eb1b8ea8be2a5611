"""The clone at the version's commit, with what the commit does not hold."""

import shutil
from collections.abc import Callable
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.yaml_file import load_yaml
from plumbline.diagnostics.reproduce.subject import ReproductionSubject
from plumbline.process.files import digest_path, write_json
from plumbline.process.lineage import run_git
from plumbline.sources.shown_params import digest_shown_params


def prepare_clone(subject: ReproductionSubject, clone: Path, say: Callable[[str], None]) -> None:
    """Clone this checkout at the version's commit and add what the commit does not hold.

    That is: parameters of a changed working tree, raw data, and a DVC cache of its own. Its
    registry has no champion, with whom nothing but the verdict has to do.
    """
    _check_out(subject, clone)
    _use_registered_params(subject, clone, say)
    num_copied = _copy_data(clone)
    if num_copied:
        say(
            f"  {num_copied} files of raw data that are not in git were copied from this checkout, "
            "as they are now"
        )
    write_json(clone / layout.CHAMPION, {subject.registered.name: None})
    (clone / ".dvc/config.local").write_text("[cache]\n    dir = cache\n", encoding="utf-8")


def _check_out(subject: ReproductionSubject, clone: Path) -> None:
    if run_git("cat-file", "-e", f"{subject.commit}^{{commit}}").returncode != 0:
        raise PlumblineError(
            f"{subject} was made from commit {subject.commit}, which is not in this clone; "
            "fetch it (git fetch --all, in a shallow clone git fetch --unshallow), then try again"
        )
    for command in (
        ("clone", "--quiet", "--no-hardlinks", "--no-checkout", "--", ".", str(clone)),
        ("-C", str(clone), "checkout", "--quiet", "--detach", subject.commit),
    ):
        done = run_git(*command)
        if done.returncode != 0:
            raise PlumblineError(
                f"commit {subject.commit} cannot be checked out: {done.stderr.strip()}"
            )


def _use_registered_params(
    subject: ReproductionSubject, clone: Path, say: Callable[[str], None]
) -> None:
    params = clone / layout.PARAMS
    if digest_path(subject.params) != digest_shown_params(params):
        shutil.copyfile(subject.params, params)
        say(
            f"  {layout.PARAMS} of the commit differs from the one that was registered; "
            "the registered one is used; addresses in it have no password and no query string"
        )


def _copy_data(clone: Path) -> int:
    """Copy the files below `data.watch` that are neither in git nor in `clone`; return how many."""
    watched = Path(load_yaml(clone / layout.PARAMS)["data"]["watch"])
    if watched.is_absolute() or ".." in watched.parts:  # the clone reads it there, or not at all
        return 0
    tracked = _list_tracked(watched) if (clone / watched).exists() else set()
    num_copied = 0
    for path in [watched] if watched.is_file() else sorted(watched.rglob("*")):
        target = clone / path
        if path.is_file() and path not in tracked and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            num_copied += 1
    return num_copied


def _list_tracked(folder: Path) -> set[Path]:
    names = run_git("ls-files", "-z", "--", str(folder)).stdout.split("\0")
    return {Path(name) for name in names if name}
