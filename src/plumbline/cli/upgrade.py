"""`plumbline upgrade`: a repository by `plumbline init` comes to the installed version."""

from pathlib import Path
from typing import Annotated

import typer

from plumbline.terminal.console import print_lines, print_plain

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
    for name in result.changed:
        print_plain(f"  {name}{': both sides changed it' if name in result.conflicts else ''}")
    for name, note in result.notes.items():
        print_plain(f"{name}: {note}")
    if check:
        print_plain("nothing was changed; `plumbline upgrade` does it")
        raise typer.Exit(1)
    if result.problem:
        print_plain(f"params.yaml is not valid for {result.new}: {result.problem}")
    if result.conflicts:
        print_lines(
            "Edit these files, in which both sides are marked, then:\n"
            f"  git add {' '.join(result.conflicts)}"
        )
    print_lines(
        "staged; next:\n  git diff --cached\n  git commit\n"
        "  make run     # installs the new packages; all stages run again\n"
        "  make test\nor take it back:\n  git reset --hard"
    )
    if result.conflicts or result.problem:
        raise typer.Exit(1)
