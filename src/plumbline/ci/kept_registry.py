"""The registry between runs of CI, without a server: the code's forge keeps it as numbered files.

They are numbered from 1, the highest number counts, and a number is used once: of two runs that
continue from one registry the later one is refused, so that nothing is lost unnoticed.

`python -m plumbline.ci.kept_registry FOLDER` keeps the registry in FOLDER. Its job may write to
the repository, so it needs only Python and GitHub's `gh`, and reads only that one file of FOLDER.
"""

import os
import re
import sys
from pathlib import Path
from typing import Protocol

from plumbline.ci import github_release, gitlab
from plumbline.contract.errors import PlumblineError, RegistryError

FILE = re.compile(r"registry-(\d{6})\.tar")
NUM_KEPT = 20


class Forge(Protocol):
    """Where registries are kept."""

    def list_files(self) -> dict[str, str]:
        """List the state of each kept file; `uploaded` is complete."""

    def upload(self, file: Path) -> None:
        """Add a file; RegistryError where there is one of that name."""

    def download(self, name: str, folder: Path) -> None:
        """Download a file into a folder."""

    def delete(self, name: str) -> None:
        """Delete a file."""


def find_newest() -> str | None:
    """The name of the registry that was kept last; None where there is none yet.

    Raises RegistryError where its upload is not complete.
    """
    states = _list_registries()
    if not states:
        return None
    name = max(states)
    if states[name] != "uploaded":
        raise RegistryError(
            f"{name} in the release {github_release.RELEASE} is not complete ({states[name]}): "
            "wait for the run that uploads it; if there is none, run "
            f"`gh release delete-asset {github_release.RELEASE} {name}`"
        )
    return name


def name_next(name: str | None) -> str:
    """The name of the registry that comes after this one; None is before the first."""
    match = FILE.fullmatch(name or "registry-000000.tar")
    return f"registry-{int(match[1]) + 1:06}.tar" if match else ""


def download(name: str, folder: Path) -> Path:
    """Download a kept registry into a folder; its path."""
    _find_forge().download(name, folder)
    return folder / name


def keep(folder: Path) -> str:
    """Keep the registry in `folder`, delete the oldest ones, and return its name.

    Raises RegistryError where the folder holds anything else, or another run used its number.
    """
    file = _find_only_registry(folder)
    forge = _find_forge()
    try:
        forge.upload(file)
    except RegistryError as error:
        raise RegistryError(
            f"{file.name} was not kept: another run was faster, or the forge is unreachable. "
            f"Run all jobs again ({error})"
        ) from None
    for name in sorted(_list_registries())[:-NUM_KEPT]:
        forge.delete(name)
    return file.name


def _find_forge() -> Forge:
    return gitlab if os.environ.get("GITLAB_CI") else github_release


def _find_only_registry(folder: Path) -> Path:
    files = sorted(folder.iterdir())
    if len(files) == 1 and FILE.fullmatch(files[0].name):
        (file,) = files
        if file.is_file() and not file.is_symlink():
            return file
    names = [path.name for path in files]
    raise RegistryError(f"{folder}: expected one file registry-N.tar; found {names}")


def _list_registries() -> dict[str, str]:
    states = _find_forge().list_files()
    return {name: state for name, state in states.items() if FILE.fullmatch(name)}


if __name__ == "__main__":
    try:
        sys.stdout.write(f"kept {keep(Path(sys.argv[1]))}\n")
    except PlumblineError as error:
        sys.exit(f"keep-registry: {error}")
