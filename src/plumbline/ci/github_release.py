"""The registry between workflow runs, without an account: assets of the release `registry`, of which the last counts.

They are numbered from 1, and a number is taken once: of two runs that go on from one registry the later is refused, and
nothing is lost unseen. `python -m plumbline.ci.github_release FOLDER` keeps the registry in FOLDER. Its job may write to the
repository, so it runs with Python and GitHub's `gh` alone, and takes no more from FOLDER than that one file.
"""

import re
import subprocess
import sys
from pathlib import Path

from plumbline.contract.errors import PlumblineError, RegistryError

RELEASE, TITLE = "registry", "Model registry"
NOTES = "The registry as the workflows left it; the highest number counts. `plumbline registry fetch` brings it here."
ASSET = re.compile(r"registry-(\d{6})\.tar")
NUM_KEPT = 20


def newest() -> str | None:
    """The registry that was kept last; None where there is none yet. RegistryError where it is not whole."""
    found = _assets()
    if not found:
        return None
    name = max(found)
    if found[name] != "uploaded":
        raise RegistryError(
            f"{name} in the release {RELEASE} is not whole ({found[name]}): wait for the run that uploads it; if there "
            f"is none, `gh release delete-asset {RELEASE} {name}`"
        )
    return name


def following(name: str | None) -> str:
    """The name of the registry that comes after this one."""
    found = ASSET.fullmatch(name or "registry-000000.tar")
    return f"registry-{int(found[1]) + 1:06}.tar" if found else ""


def download(name: str, folder: Path) -> Path:
    """Bring a kept registry into a folder."""
    gh("release", "download", RELEASE, "--pattern", name, "--dir", str(folder))
    return folder / name


def keep(folder: Path) -> str:
    """Add the registry in `folder` to the release and let the oldest go; its name.

    Raises RegistryError where there is not just one there, or another run took its number.
    """
    inside = sorted(folder.iterdir())
    if (
        len(inside) != 1
        or not ASSET.fullmatch(inside[0].name)
        or inside[0].is_symlink()
        or not inside[0].is_file()
    ):
        raise RegistryError(
            f"{folder}: expected one file registry-N.tar; found {[path.name for path in inside]}"
        )
    if _assets() is None:
        gh("release", "create", RELEASE, "--prerelease", "--title", TITLE, "--notes", NOTES)
    try:
        gh("release", "upload", RELEASE, str(inside[0]))
    except RegistryError as error:
        raise RegistryError(
            f"{inside[0].name} was not kept: another run was faster, or GitHub is away. Run all jobs again ({error})"
        ) from None
    for name in sorted(_assets() or {})[:-NUM_KEPT]:
        gh("release", "delete-asset", RELEASE, name, "--yes")
    return inside[0].name


def gh(*arguments: str) -> str:
    """What GitHub's command says. RegistryError where it fails."""
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


def _assets() -> dict[str, str] | None:
    """The state of each registry in the release; None where there is no release."""
    try:
        told = gh(
            "release",
            "view",
            RELEASE,
            "--json",
            "assets",
            "--jq",
            r'.assets[] | "\(.name) \(.state)"',
        )
    except RegistryError as error:
        if "release not found" in str(error):
            return None
        raise
    states = dict(line.split(" ", 1) for line in told.splitlines() if line)
    return {name: state for name, state in states.items() if ASSET.fullmatch(name)}


if __name__ == "__main__":
    try:
        sys.stdout.write(f"kept {keep(Path(sys.argv[1]))}\n")
    except PlumblineError as error:
        sys.exit(f"keep-registry: {error}")
