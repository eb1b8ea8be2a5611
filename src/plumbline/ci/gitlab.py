"""What a job of GitLab uses of its API: kept registries, notes, and the start of a training.

`python -m plumbline.ci.gitlab note FILE` writes FILE as the one note of reports on the merge
request, with $REPORT_TOKEN; `... train` starts a pipeline of the default branch. Both need only
Python.
"""

import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode

from plumbline.contract.errors import PlumblineError, RefusedError, RegistryError
from plumbline.process.visible_text import show_lines

PACKAGE = "registry"
OUTPUTS = Path("outputs.env")  # a report `dotenv`: variables of the later jobs
MARK = "<!-- plumbline -->"  # by which the note is found again
TIMEOUT = 600  # seconds without an answer


def list_files() -> list[str]:
    """List the kept files; GitLab shows one only when its upload is complete."""
    return list(_list_packages())


def upload(file: Path) -> None:
    """Add a file as a package of its own version; RegistryError where there is one."""
    if file.name in _list_packages():
        raise RegistryError(f"{file.name} is in the package registry already")
    with file.open("rb") as body:
        _open("PUT", _name_path(file.name), body, file.stat().st_size).close()


def download(name: str, folder: Path) -> None:
    """Download a file into a folder."""
    with _open("GET", _name_path(name)) as answer, (folder / name).open("wb") as file:
        shutil.copyfileobj(answer, file)


def delete(name: str) -> None:
    """Delete a file with its package."""
    _open("DELETE", f"packages/{_list_packages()[name]}").close()


def describe_approval(asked_by: str, commit: str) -> str:
    """Return who started this job, for the journal.

    Raises RefusedError where `asked_by` asked for it, and they or the commit's author started it.
    """
    who = os.environ.get("GITLAB_USER_LOGIN", "")
    author = os.environ.get("CI_COMMIT_AUTHOR", "")
    is_author = f"<{os.environ.get('GITLAB_USER_EMAIL')}>" in author
    if asked_by and (who == asked_by or is_author):
        raise RefusedError(
            f"this job was asked for by {asked_by}, on a commit of {author}, and started by {who}: "
            "somebody else has to start it, or a person runs a pipeline by hand (`plumbline docs "
            "gitlab`). Nothing was changed"
        )
    return f"started by {who}, job {os.environ.get('CI_JOB_ID')}"


def add_summary(markdown: str) -> None:
    """Do nothing: a job of GitLab has no page for it."""


def annotate(level: str, title: str, text: str) -> None:
    """Put a line into the job's log."""
    print(f"{title}: {show_lines(text)}", flush=True)  # noqa: T201


def set_outputs(**values: str) -> None:
    """Set variables of the later jobs. Raises ValueError for a value of more than one line."""
    with OUTPUTS.open("a", encoding="utf-8") as file:
        for name, value in values.items():
            if len(value.splitlines()) > 1:
                raise ValueError(f"{name}: {value!r} has more than one line")
            file.write(f"{name}={value}\n")


def read_output(name: str) -> str:
    """Read what an earlier step of this job has set; empty where it set nothing."""
    lines = OUTPUTS.read_text(encoding="utf-8").splitlines() if OUTPUTS.exists() else []
    return dict(line.split("=", 1) for line in lines).get(name, "")


def start_training() -> None:
    """Start a pipeline of the default branch."""
    fields = {"token": os.environ["CI_JOB_TOKEN"], "ref": os.environ["CI_DEFAULT_BRANCH"]}
    _open("POST", "trigger/pipeline", urlencode(fields).encode()).close()


def write_note(text: str) -> None:
    """Write the note of reports on this merge request: the first time a new one, then the same."""
    notes = f"merge_requests/{os.environ['CI_MERGE_REQUEST_IID']}/notes"
    newest = json.load(_open("GET", f"{notes}?sort=desc&per_page=100"))
    own = [note["id"] for note in newest if note["body"].startswith(MARK)]
    body = urlencode({"body": f"{MARK}\n{text}"}).encode()
    method, path = ("PUT", f"{notes}/{own[0]}") if own else ("POST", notes)
    _open(method, path, body).close()


def _list_packages() -> dict[str, int]:
    """List the kept files with the numbers that GitLab gave their packages, newest first."""
    query = f"package_type=generic&package_name={PACKAGE}&per_page=100"
    found = json.load(_open("GET", f"packages?{query}&order_by=created_at&sort=desc"))
    return {
        f"{PACKAGE}-{package['version'].rpartition('.')[2]:>06}.tar": package["id"]
        for package in found
        if package["name"] == PACKAGE
    }


def _name_path(name: str) -> str:
    number = int(name.removeprefix(f"{PACKAGE}-").removesuffix(".tar"))
    return f"packages/generic/{PACKAGE}/0.0.{number}/{name}"


def _open(method: str, path: str, body: bytes | BinaryIO | None = None, size: int = 0) -> Any:
    """Open a path of this project; RegistryError names what GitLab answered."""
    headers = {"JOB-TOKEN": os.environ.get("CI_JOB_TOKEN", "")}
    if "/notes" in path:
        headers = {"PRIVATE-TOKEN": os.environ.get("REPORT_TOKEN", "")}
    if size:
        headers["Content-Length"] = str(size)
    address = f"{os.environ['CI_API_V4_URL']}/projects/{os.environ['CI_PROJECT_ID']}/{path}"
    request = urllib.request.Request(address, body, headers, method=method)  # noqa: S310
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        reason = error.read(300).decode(errors="replace")
        raise RegistryError(f"GitLab refused {method} {path}: {error.code} {reason}") from None
    except OSError as error:
        raise RegistryError(f"GitLab cannot be reached: {error}") from None


if __name__ == "__main__":
    try:
        if sys.argv[1] == "note":
            write_note(Path(sys.argv[2]).read_text(encoding="utf-8"))
        else:
            start_training()
    except (PlumblineError, OSError) as error:
        sys.exit(f"gitlab: {error}")
