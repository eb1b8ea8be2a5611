"""A local registry, with its journal, as one file."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from plumbline.ci import github, github_release
from plumbline.cli.console import plain

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def pack(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The .tar file to write.")],
) -> None:
    """Write registry, journal and artifacts into one file, as they are at this moment."""
    from plumbline.registry import archives

    plain(f"{target}: {archives.pack(target):,} files")


@app.command()
def unpack(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What `pack` wrote.")],
) -> None:
    """Verify such a file and make its registry this machine's, where there is none yet."""
    from plumbline.registry import archives

    plain(f"{archives.unpack(source):,} files; `plumbline fsck` looks deeper")


@app.command()
def fetch() -> None:
    """Make the registry that the last workflow run kept in the GitHub release `registry` this machine's; needs `gh`.

    In a workflow: output `next`, the name under which this run has to pack its own.
    """
    from plumbline.registry import archives

    if github.is_shared():
        return plain("the registry is on a server that all runs share; there is nothing to fetch")
    found, files = github_release.newest(), 0
    if found:
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            files = archives.unpack(github_release.download(found, Path(folder)))
    github.output(next=github_release.following(found))
    plain(
        f"{found}: {files:,} files; `plumbline fsck` looks deeper"
        if found
        else "none was kept yet: this is the first"
    )
