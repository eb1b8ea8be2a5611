"""GitHub as a workflow's step meets it: outputs, summary, annotations, who approved, and the registry between runs.

Without an account anywhere the registry travels from run to run as assets of the release `registry`, numbered from 1;
the one with the highest number counts. A number is taken once, so of two runs that go on from the same registry the
second is refused (`make keep-registry`), and nothing is lost unseen.
"""

import json
import os
import re
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any, Literal

from plumbline import portable, tracking
from plumbline.errors import PlumblineError, RefusedError, RegistryError

RELEASE = "registry"
ASSET = re.compile(r"registry-(\d{6})\.tar")


def output(**values: str) -> None:
    """Set outputs of this step. Nothing outside of a workflow."""
    for name, value in values.items():
        mark = f"end-{uuid.uuid4()}"  # which no value can hold: none ends early and sets another
        _append("GITHUB_OUTPUT", f"{name}<<{mark}\n{value}\n{mark}\n")


def summary(markdown: str) -> None:
    """Add to the page of this job. Nothing outside of a workflow."""
    _append("GITHUB_STEP_SUMMARY", f"{markdown}\n\n")


def annotate(level: Literal["notice", "error"], title: str, text: str) -> None:
    """Put a line on the page of this run. Nothing outside of a workflow."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print(f"::{level} title={_escaped(title, ':,')}::{_escaped(text)}", flush=True)  # noqa: T201


def approval() -> str:
    """Who approved a job of this run, and what they said. RefusedError where nobody did."""
    repository, run = (os.environ.get(name, "") for name in ("GITHUB_REPOSITORY", "GITHUB_RUN_ID"))
    if not repository or not run:
        raise PlumblineError("--approved is for a job of GitHub Actions; elsewhere give a --reason")
    reviews: list[dict[str, Any]] = json.loads(_gh("api", f"repos/{repository}/actions/runs/{run}/approvals"))
    approved = [review for review in reviews if review["state"] == "approved"]
    if not approved:
        raise RefusedError(
            "nobody approved this run, so nothing was changed: the environment `production` needs required reviewers "
            "(docs/operate.md), or run the workflow `promote` by hand"
        )
    last = approved[-1]
    return " ".join(f"approved by {last['user']['login']}: {last['comment'] or 'no comment'}".split())


def fetch() -> tuple[int, str]:
    """Make the newest registry that was kept this machine's; how many files it has, and the name of its successor.

    0 files where none was kept yet. Raises RegistryError where GitHub cannot be asked or the file is not sound.
    """
    numbers = {int(found[1]): name for name in _assets() if (found := ASSET.fullmatch(name))}
    following = f"registry-{max(numbers, default=0) + 1:06}.tar"
    if not numbers:
        return 0, following
    newest = numbers[max(numbers)]
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        _gh("release", "download", RELEASE, "--pattern", newest, "--dir", folder)
        return portable.unpack(Path(folder) / newest), following


def is_shared() -> bool:
    """Whether all runs use one tracking server, so that no registry has to travel."""
    return not tracking.uri().startswith("sqlite:///")


def _assets() -> list[str]:
    try:
        said = _gh("release", "view", RELEASE, "--json", "assets", "--jq", ".assets[].name")
    except RegistryError as error:
        if "release not found" in str(error):
            return []
        raise
    return said.split()


def _gh(*arguments: str) -> str:
    try:
        done = subprocess.run(["gh", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RegistryError("this needs GitHub's command `gh` (https://cli.github.com), logged in") from None
    if done.returncode:
        raise RegistryError(f"gh {' '.join(arguments[:2])} failed ({tracking.first_line(RuntimeError(done.stderr))})")
    return done.stdout


def _append(variable: str, text: str) -> None:
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _escaped(text: str, more: str = "") -> str:
    """So that text from data ends no line and begins no command."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
