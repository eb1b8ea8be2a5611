"""`plumbline registry`: a local registry, with its journal, as one file."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from plumbline.ci import gitlab, kept_registry
from plumbline.ci.forge import find_forge
from plumbline.contract.errors import ParamsError
from plumbline.terminal.console import print_plain

PACK_EXAMPLE = "plumbline registry pack registry.tar"
UNPACK_EXAMPLE = "plumbline registry unpack registry.tar"
CHECKED_BY = "`plumbline doctor --full` checks them in full"


def pack_registry(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The .tar file to write.",
            show_default="in a job of GitLab the project's package registry",
        ),
    ] = None,
) -> None:
    """Write registry, journal and artifacts, as they are now, into one file."""
    from plumbline.registry import archives

    if target is None:
        _keep_registry()
        return
    print_plain(f"{target}: {archives.pack(target):,} files")


def unpack_registry(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A file that `plumbline registry pack` wrote.",
            show_default="what CI kept last; on GitHub this needs its command gh",
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
    """Install the registry that CI kept last."""
    from plumbline.registry import archives

    if kept_registry.is_registry_shared():
        print_plain("the registry is on a server that all runs share; there is nothing to fetch")
        return
    newest = kept_registry.find_newest()
    next_name = kept_registry.name_next(newest)
    if newest is None:
        find_forge().set_outputs(next=next_name)
        print_plain("no registry was kept yet: this is the first run")
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        find_forge().download(newest, Path(folder))
        num_files = archives.unpack(Path(folder) / newest)
    find_forge().set_outputs(next=next_name)
    print_plain(f"{newest}: {num_files:,} files; {CHECKED_BY}")


def _keep_registry() -> None:
    """Keep the registry under the number after the one that this job of GitLab fetched."""
    from plumbline.registry import archives

    if kept_registry.is_registry_shared():
        print_plain("the registry is on a server that all runs share; there is nothing to keep")
        return
    name = gitlab.read_output("next")
    if not name:
        raise ParamsError("expected the .tar file to write; only a job of GitLab needs none")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        archives.pack(Path(folder) / name)
        print_plain(f"kept {kept_registry.keep(Path(folder))}")
