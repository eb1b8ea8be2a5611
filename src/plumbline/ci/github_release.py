"""The registry between workflow runs, without a server: assets of the GitHub release `registry`.

They are numbered from 1, the highest number counts, and a number is used once: of two runs that
continue from one registry the later one is refused, so that nothing is lost unnoticed.

`python -m plumbline.ci.github_release FOLDER` keeps the registry in FOLDER. Its job may write to
the repository, so it needs only Python and GitHub's `gh`, and reads only that one file of FOLDER.
"""

import re
import subprocess
import sys
from pathlib import Path

from plumbline.contract.errors import PlumblineError, RegistryError

RELEASE, TITLE = "registry", "Model registry"
NOTES = (
    "The registry as the workflows left it; the highest number counts. "
    "`plumbline registry unpack` installs it on your machine."
)
ASSET = re.compile(r"registry-(\d{6})\.tar")
NUM_KEPT = 20


def find_newest() -> str | None:
    """The name of the registry that was kept last; None where there is none yet.

    Raises RegistryError where its upload is not complete.
    """
    assets = _list_assets()
    if not assets:
        return None
    name = max(assets)
    if assets[name] != "uploaded":
        raise RegistryError(
            f"{name} in the release {RELEASE} is not complete ({assets[name]}): wait for the run "
            f"that uploads it; if there is none, run `gh release delete-asset {RELEASE} {name}`"
        )
    return name


def name_next(name: str | None) -> str:
    """The name of the registry that comes after this one; None is before the first."""
    match = ASSET.fullmatch(name or "registry-000000.tar")
    return f"registry-{int(match[1]) + 1:06}.tar" if match else ""


def download(name: str, folder: Path) -> Path:
    """Download a kept registry into a folder; its path."""
    run_gh("release", "download", RELEASE, "--pattern", name, "--dir", str(folder))
    return folder / name


def keep(folder: Path) -> str:
    """Add the registry in `folder` to the release, delete the oldest ones, and return its name.

    Raises RegistryError where the folder holds anything else, or another run used its number.
    """
    file = _find_only_registry(folder)
    if _list_assets() is None:
        run_gh("release", "create", RELEASE, "--prerelease", "--title", TITLE, "--notes", NOTES)
    try:
        run_gh("release", "upload", RELEASE, str(file))
    except RegistryError as error:
        raise RegistryError(
            f"{file.name} was not kept: another run was faster, or GitHub is unreachable. "
            f"Run all jobs again ({error})"
        ) from None
    for name in sorted(_list_assets() or {})[:-NUM_KEPT]:
        run_gh("release", "delete-asset", RELEASE, name, "--yes")
    return file.name


def run_gh(*arguments: str) -> str:
    """Run GitHub's command and return what it prints. Raises RegistryError where it fails."""
    try:
        done = subprocess.run(["gh", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RegistryError(
            "this needs GitHub's command `gh` (https://cli.github.com), logged in"
        ) from None
    if done.returncode:
        reason = (done.stderr.strip() or "no message").splitlines()[0]
        raise RegistryError(f"gh {' '.join(arguments[:2])} failed: {reason}")
    return done.stdout


def _find_only_registry(folder: Path) -> Path:
    files = sorted(folder.iterdir())
    if len(files) == 1 and ASSET.fullmatch(files[0].name):
        (file,) = files
        if file.is_file() and not file.is_symlink():
            return file
    names = [path.name for path in files]
    raise RegistryError(f"{folder}: expected one file registry-N.tar; found {names}")


def _list_assets() -> dict[str, str] | None:
    """The state of each registry in the release; None where there is no release."""
    query = r'.assets[] | "\(.name) \(.state)"'
    try:
        output = run_gh("release", "view", RELEASE, "--json", "assets", "--jq", query)
    except RegistryError as error:
        if "release not found" in str(error):
            return None
        raise
    states = dict(line.split(" ", 1) for line in output.splitlines() if line)
    return {name: state for name, state in states.items() if ASSET.fullmatch(name)}


if __name__ == "__main__":
    try:
        sys.stdout.write(f"kept {keep(Path(sys.argv[1]))}\n")
    except PlumblineError as error:
        sys.exit(f"keep-registry: {error}")
