"""`plumbline merge-lock`: git's merge driver for dvc.lock."""

import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "plumbline merge-lock %O %A %B"


def merge_lock(
    base: Annotated[Path, typer.Argument(help="The common ancestor's dvc.lock.")],
    ours: Annotated[Path, typer.Argument(help="Our dvc.lock; the merge is written to it.")],
    theirs: Annotated[Path, typer.Argument(help="Their dvc.lock.")],
) -> None:
    """Merge three versions of dvc.lock into OURS: git calls it (.gitattributes)."""
    from plumbline.ci import lockfile

    conflicting = lockfile.merge_locks(base, ours, theirs)
    if conflicting:
        stages = ", ".join(conflicting)
        print(
            f"dvc.lock: changed on both sides, so `dvc repro` checks them again: {stages}",
            file=sys.stderr,
        )
