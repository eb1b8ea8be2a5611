"""The GitHub release `registry`, whose assets are kept registries, by GitHub's command `gh`."""

import subprocess
from pathlib import Path

from plumbline.contract.errors import RegistryError

RELEASE, TITLE = "registry", "Model registry"
NOTES = (
    "The registry as the workflows left it; the highest number counts. "
    "`plumbline registry unpack` installs it on your machine."
)


def list_files() -> dict[str, str]:
    """List the state of each asset; none where there is no release."""
    query = r'.assets[] | "\(.name) \(.state)"'
    try:
        output = run_gh("release", "view", RELEASE, "--json", "assets", "--jq", query)
    except RegistryError as error:
        if "release not found" in str(error):
            return {}
        raise
    return dict(line.split(" ", 1) for line in output.splitlines() if line)


def upload(file: Path) -> None:
    """Add a file to the release, which is created where there is none."""
    try:
        run_gh("release", "view", RELEASE)
    except RegistryError as error:
        if "release not found" not in str(error):
            raise
        run_gh("release", "create", RELEASE, "--prerelease", "--title", TITLE, "--notes", NOTES)
    run_gh("release", "upload", RELEASE, str(file))


def download(name: str, folder: Path) -> None:
    """Download an asset into a folder."""
    run_gh("release", "download", RELEASE, "--pattern", name, "--dir", str(folder))


def delete(name: str) -> None:
    """Delete an asset."""
    run_gh("release", "delete-asset", RELEASE, name, "--yes")


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
