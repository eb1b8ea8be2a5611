"""`plumbline upgrade`: a repository by `plumbline init` comes to the installed version."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.terminal.console import print_lines, print_plain

if TYPE_CHECKING:
    from plumbline.init.upgrade import Upgrade

EXAMPLE = "plumbline upgrade --check"


def upgrade(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Change nothing: print what would change, and exit with 1 if anything would.",
        ),
    ] = False,
) -> None:
    """Bring a repository that `plumbline init` made to the installed version, as one commit.

    Git merges plumbline's changes with your edits; the wheel and the lock files are updated too.
    Run it at the top of the repository, with the new plumbline installed.
    """
    from plumbline.init.upgrade import check_upgrade, upgrade_repository

    result = check_upgrade(Path()) if check else upgrade_repository(Path())
    if not result.files:
        print_plain(f"up to date: plumbline {result.new}")
        return
    print_plain(f"plumbline {result.old} -> {result.new}:")
    print_lines(result.files)
    if result.params and "params.yaml" not in result.conflicts:
        print_plain("params.yaml:")
        for line in result.params:
            print_plain(f"  {line}")
    if result.problem:
        print_plain(f"params.yaml is not valid for {result.new}: {result.problem}")
    if check:
        _describe_check(result)
        raise typer.Exit(1)
    _describe_result(result)
    if result.conflicts or result.problem:
        raise typer.Exit(1)


def _describe_check(result: "Upgrade") -> None:
    if result.conflicts:
        print_plain(f"conflicts with what you edited: {', '.join(result.conflicts)}")
    print_plain("nothing was changed; `plumbline upgrade` does it")


def _describe_result(result: "Upgrade") -> None:
    if result.conflicts:
        _describe_conflicts(result)
        return
    print_lines(
        "committed; next:\n  make run     # installs the new packages; all stages run again\n"
        "  make test\nor take it back:\n  git revert HEAD"
    )


def _describe_conflicts(result: "Upgrade") -> None:
    print_plain(f"conflicts with what you edited: {', '.join(result.conflicts)}")
    for name in result.only_new:
        print_plain(
            f"{name}: you deleted it, the new version changed it: `git rm {name}` keeps it "
            f"deleted, `git add {name}` takes it"
        )
    for name in result.only_mine:
        print_plain(
            f"{name}: you changed it, the new version deleted it: `git rm {name}` deletes it, "
            f"`git add {name}` keeps it"
        )
    both = [name for name in result.conflicts if name not in result.only_new + result.only_mine]
    locks = [name for name in both if name.endswith(".lock")]
    if locks:
        print_lines(
            "Take the new side of locks, then add what you had added to them:\n"
            f"  git checkout --theirs {' '.join(locks)}"
        )
    if both:
        print_lines(
            "Edit these files, where git marked both sides, then:\n"
            f"  git add {' '.join(both)}\n  git cherry-pick --continue"
        )
    else:
        print_lines("Decide on each of them, then:\n  git cherry-pick --continue")
    print_lines("or take the whole upgrade back:\n  git cherry-pick --abort")
