"""`plumbline upgrade`: further files of plumbline come into a repository by `init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.terminal.console import print_lines, print_plain

if TYPE_CHECKING:
    from plumbline.init.upgrade import Upgrade

EXAMPLE = "plumbline upgrade --check"
PAGES = {"docker": "images", "slurm": "training-on-many-machines", "spark": "score"}  # or the part


def upgrade(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Change nothing: print what would change, and exit with 1 if anything would.",
        ),
    ] = False,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Only bring the files of these parts: docker (images, a tracking server), "
            "gitlab (CI/CD), kubernetes (manifests), slurm (a batch job for `plumbline run "
            "--submit`) or spark (the packages of `plumbline score --on spark`).",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Bring a repository that `plumbline init` made to the installed version.

    Git merges plumbline's changes with your edits; the wheel and the lock files are updated too.
    Run it at the top of the repository, with the new plumbline installed.
    """
    from plumbline.init.upgrade import upgrade_repository

    result = upgrade_repository(Path(), check=check, parts=add or ())
    if not result.changed and not result.notes:
        here = f"{', '.join(add)}: here already" if add else ""
        print_plain(here or f"up to date: plumbline {result.new}")
        return
    if not add:
        print_plain(f"plumbline {result.old} -> {result.new}:")
    _print_changes(result)
    if check:
        print_plain("nothing was changed; the same command without --check does it")
        raise typer.Exit(1)
    if result.problem:
        print_plain(f"params.yaml is not valid for {result.new}: {result.problem}")
    for part in add or ():
        print_plain(f"how to use {part}: plumbline docs {PAGES.get(part, part)}")
    then = "  make run     # installs the new packages; all stages run again\n  make test\n"
    _print_next(result, "" if add else then)


def _print_changes(result: "Upgrade") -> None:
    for name in result.changed:
        print_plain(f"  {name}{': both sides changed it' if name in result.conflicts else ''}")
    for name, note in result.notes.items():
        print_plain(f"{name}: {note}")


def _print_next(result: "Upgrade", then: str) -> None:
    if result.conflicts:
        print_lines(
            "Edit these files, in which both sides are marked, then:\n"
            f"  git add {' '.join(result.conflicts)}"
        )
    print_lines(
        f"staged; next:\n  git diff --cached\n  git commit\n{then}"
        "or take it back:\n  git reset --hard"
    )
    if result.conflicts or result.problem:
        raise typer.Exit(1)
