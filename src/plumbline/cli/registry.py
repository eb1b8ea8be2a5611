"""`plumbline registry`: a local registry, with its journal, as one file."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from plumbline.ci import github, github_release
from plumbline.terminal.console import print_plain

PACK_EXAMPLE = "plumbline registry pack registry.tar"
UNPACK_EXAMPLE = "plumbline registry unpack registry.tar"
CHECKED_BY = "`plumbline doctor --full` checks them in full"


def pack_registry(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The .tar file to write.")],
) -> None:
    """Write registry, journal and artifacts, as they are now, into one file."""
    from plumbline.registry import archives

    print_plain(f"{target}: {archives.pack(target):,} files")


def unpack_registry(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A file that `plumbline registry pack` wrote.",
            show_default="what the last workflow run kept on GitHub; needs its command gh",
        ),
    ] = None,
) -> None:
    """Verify a packed registry and install it here, where there is no registry yet.

    Without FILE in a workflow: sets the output `next`, the file name for this run's own registry.
    """
    from plumbline.registry import archives

    if source is None:
        _fetch_registry()
        return
    print_plain(f"{archives.unpack(source):,} files; {CHECKED_BY}")


def _fetch_registry() -> None:
    """Install the newest asset of the GitHub release `registry`."""
    from plumbline.registry import archives

    if github.is_registry_shared():
        print_plain("the registry is on a server that all runs share; there is nothing to fetch")
        return
    newest = github_release.find_newest()
    next_name = github_release.name_next(newest)
    if newest is None:
        github.set_outputs(next=next_name)
        print_plain("no registry was kept yet: this is the first run")
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        num_files = archives.unpack(github_release.download(newest, Path(folder)))
    github.set_outputs(next=next_name)
    print_plain(f"{newest}: {num_files:,} files; {CHECKED_BY}")
