"""What a job on GitHub uses: outputs, summary, annotations, approvals, and the release `registry`.

Kept registries are assets of that release; GitHub's command `gh` reaches it.
"""

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Literal

from plumbline.contract.errors import PlumblineError, RefusedError, RegistryError
from plumbline.process.visible_text import show_lines

ENVIRONMENT = "production"
RELEASE, TITLE = "registry", "Model registry"
NOTES = (
    "The registry as the workflows left it; the highest number counts. "
    "`plumbline registry unpack` installs it on your machine."
)


def set_outputs(**values: str) -> None:
    """Set outputs of this step. Does nothing outside of a workflow."""
    for name, value in values.items():
        # A random delimiter: no value can contain it and so set another output.
        delimiter = f"end-{uuid.uuid4()}"
        _append("GITHUB_OUTPUT", f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def add_summary(markdown: str) -> None:
    """Add to the summary page of this job. Does nothing outside of a workflow."""
    _append("GITHUB_STEP_SUMMARY", f"{markdown}\n\n")


def annotate(level: Literal["notice", "error"], title: str, text: str) -> None:
    """Put a line on the page of this run. Does nothing outside of a workflow."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        command = f"::{level} title={_escape(title, ':,')}::{_escape(show_lines(text))}"
        print(command, flush=True)  # noqa: T201 (a workflow reads commands from stdout)


def describe_approval(asked_by: str, commit: str) -> str:
    """Return who approved this run for production, with their comments, for the journal.

    `asked_by` is whose push or request started it; empty where a person started this run. Raises
    RefusedError where somebody asked and only they, or the author of the trained `commit`,
    approved.
    """
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    run = os.environ.get("GITHUB_RUN_ID", "")
    if not repository or not run:
        raise PlumblineError("--asked-by is for a job of CI; elsewhere use --reason")
    approvals = _list_approvals(repository, run)
    if asked_by:
        author = _find_author(repository, commit)
        if not set(approvals) - {asked_by, author}:
            approvers = ", ".join(approvals) or "nobody"
            raise RefusedError(
                f"run {run} was asked for by {asked_by}, on a commit of {author}, and approved by "
                f"{approvers}: somebody else has to approve it. Nothing was changed. The "
                f"environment {ENVIRONMENT} needs required reviewers (`plumbline docs github`), "
                "or a person runs the workflow `promote` by hand"
            )
    parts = [f"approved by {who}: {comment}" for who, comment in approvals.items()]
    return " ".join("; ".join([*parts, f"run {run}"]).split())


def list_files() -> list[str]:
    """List the assets of the release; RegistryError while one is uploaded."""
    found = _find_release("--json", "assets", "--jq", r'.assets[] | "\(.name) \(.state)"')
    states = dict(line.split(" ", 1) for line in found.splitlines() if line)
    for name, state in states.items():
        if state != "uploaded":
            raise RegistryError(
                f"{name} in the release {RELEASE} is not complete ({state}): wait for the run that "
                f"uploads it; if there is none, run `gh release delete-asset {RELEASE} {name}`"
            )
    return list(states)


def upload(file: Path) -> None:
    """Add a file to the release, which is created where there is none."""
    if not _find_release():
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


def _find_release(*options: str) -> str:
    """Return what gh says of the release; nothing where there is none."""
    try:
        return run_gh("release", "view", RELEASE, *options)
    except RegistryError as error:
        if "release not found" in str(error):
            return ""
        raise


def _list_approvals(repository: str, run: str) -> dict[str, str]:
    """Return the comment of each who approved the run for production, by their name."""
    path = f"repos/{repository}/actions/runs/{run}/approvals"
    return {
        review["user"]["login"]: review["comment"] or "no comment"
        for review in json.loads(run_gh("api", path))
        if review["state"] == "approved"
        and ENVIRONMENT in {environment["name"] for environment in review["environments"]}
    }


def _find_author(repository: str, commit: str) -> str:
    path = f"repos/{repository}/commits/{commit}"
    return run_gh("api", path, "--jq", ".author.login").strip()


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _escape(text: str, more: str = "") -> str:
    """Percent-encode what would end the line or begin a command."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
