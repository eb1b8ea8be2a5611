"""The registry between runs of CI, without a server: the code's forge keeps it as numbered files.

They are numbered from 1, the highest number counts, and a number is used once: of two runs that
continue from one registry the later one is refused, so that nothing is lost unnoticed.

`python -m plumbline.ci.kept_registry FOLDER` keeps the registry in FOLDER. Its job may write to
the repository, so it needs only Python and GitHub's `gh`, and reads only that one file of FOLDER.
"""

import re
import sys
from pathlib import Path

from plumbline.ci.forge import find_forge
from plumbline.contract.errors import ParamsError, PlumblineError, RegistryError
from plumbline.tracking import store_location

FILE = re.compile(r"registry-(\d{6})\.tar")
NUM_KEPT = 20


def is_registry_shared() -> bool:
    """Whether all runs use one tracking server, so that no registry has to be moved between them.

    Raises ParamsError for a bare database: the files of its models would be left on this machine,
    which is deleted after the run.
    """
    uri = store_location.find_uri()
    if uri.startswith(("sqlite:///", "https://", "http://")):
        return not uri.startswith("sqlite")
    raise ParamsError(
        "MLFLOW_TRACKING_URI names a database; jobs of CI need an MLflow server: it keeps files too"
    )


def find_newest() -> str | None:
    """The name of the registry that was kept last; None where there is none yet."""
    return max(_list_registries(), default=None)


def name_next(name: str | None) -> str:
    """The name of the registry that comes after this one; None is before the first."""
    match = FILE.fullmatch(name or "registry-000000.tar")
    return f"registry-{int(match[1]) + 1:06}.tar" if match else ""


def keep(folder: Path) -> str:
    """Keep the registry in `folder`, delete the oldest ones, and return its name.

    Raises RegistryError where the folder holds anything else, or another run used its number.
    """
    file = _find_only_registry(folder)
    try:
        find_forge().upload(file)
    except RegistryError as error:
        raise RegistryError(
            f"{file.name} was not kept: another run was faster, or the forge is unreachable. "
            f"Run all jobs again ({error})"
        ) from None
    _delete_oldest()
    return file.name


def _delete_oldest() -> None:
    """Delete all but the last files; says so where that is refused, as what counts is kept."""
    try:
        for name in sorted(_list_registries())[:-NUM_KEPT]:
            find_forge().delete(name)
    except RegistryError as error:
        sys.stderr.write(f"more than {NUM_KEPT} registries are kept, as {error}\n")


def _find_only_registry(folder: Path) -> Path:
    names = sorted(path.name for path in folder.iterdir())
    file = folder / "".join(names[:1])
    if len(names) == 1 and FILE.fullmatch(file.name) and file.is_file() and not file.is_symlink():
        return file
    raise RegistryError(f"{folder}: expected one file registry-N.tar; found {names}")


def _list_registries() -> list[str]:
    return [name for name in find_forge().list_files() if FILE.fullmatch(name)]


if __name__ == "__main__":
    try:
        sys.stdout.write(f"kept {keep(Path(sys.argv[1]))}\n")
    except PlumblineError as error:
        sys.exit(f"keep-registry: {error}")
