"""`plumbline upgrade` and `add`: further files of plumbline come into a repository by `init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.terminal.console import print_lines, print_plain

if TYPE_CHECKING:
    from plumbline.init.upgrade import Upgrade

EXAMPLE = "plumbline upgrade --check"
ADD_EXAMPLE = "plumbline add docker"
PAGES = {"docker": "images", "kubernetes": "kubernetes", "slurm": "operate", "spark": "score"}


def upgrade(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Change nothing: print what would change, and exit with 1 if anything would.",
        ),
    ] = False,
) -> None:
    """Bring a repository that `plumbline init` made to the installed version.

    Git merges plumbline's changes with your edits; the wheel and the lock files are updated too.
    Run it at the top of the repository, with the new plumbline installed.
    """
    from plumbline.init.upgrade import upgrade_repository

    result = upgrade_repository(Path(), check=check)
    if not result.changed and not result.notes:
        print_plain(f"up to date: plumbline {result.new}")
        return
    print_plain(f"plumbline {result.old} -> {result.new}:")
    _print_changes(result)
    if check:
        print_plain("nothing was changed; `plumbline upgrade` does it")
        raise typer.Exit(1)
    if result.problem:
        print_plain(f"params.yaml is not valid for {result.new}: {result.problem}")
    _print_next(
        result, "  make run     # installs the new packages; all stages run again\n  make test\n"
    )


def add_part(
    part: Annotated[str, typer.Argument(help="docker, kubernetes, slurm or spark.")],
) -> None:
    """Add the files of PART to a repository that `plumbline init` made.

    docker: images to train and to serve, and a tracking server. kubernetes: manifests. slurm: a
    batch job for `plumbline run --submit`. spark: the packages of `plumbline score --on spark`.
    """
    from plumbline.init.upgrade import upgrade_repository

    result = upgrade_repository(Path(), part=part)
    if not result.changed:
        print_plain(f"{part} is here already")
        return
    _print_changes(result)
    print_plain(f"how to use them: plumbline docs {PAGES[part]}")
    _print_next(result, "")


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
