"""What a step of a workflow uses: outputs, summary, annotations, who approved its run."""

import json
import os
import uuid
from pathlib import Path
from typing import Any, Literal

from plumbline.ci import github_release, gitlab
from plumbline.contract.errors import ParamsError, PlumblineError, RefusedError
from plumbline.process.visible_text import show_lines
from plumbline.tracking import store_location

ENVIRONMENT = "production"


def set_outputs(**values: str) -> None:
    """Set outputs of this step. Does nothing outside of a workflow."""
    if os.environ.get("GITLAB_CI"):
        gitlab.set_outputs(values)
    for name, value in values.items():
        # A random delimiter: no value can contain it and so set another output.
        delimiter = f"end-{uuid.uuid4()}"
        _append("GITHUB_OUTPUT", f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def add_summary(markdown: str) -> None:
    """Add to the summary page of this job. Does nothing outside of a workflow."""
    _append("GITHUB_STEP_SUMMARY", f"{markdown}\n\n")


def annotate(level: Literal["notice", "error"], title: str, text: str) -> None:
    """Put a line on the page of this run. Does nothing outside of a workflow."""
    if os.environ.get("GITLAB_CI"):
        print(f"{title}: {show_lines(text)}", flush=True)  # noqa: T201 (the job's log)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        command = f"::{level} title={_escape(title, ':,')}::{_escape(show_lines(text))}"
        print(command, flush=True)  # noqa: T201 (a workflow reads commands from stdout)


def describe_approval(asked_by: str, commit: str) -> str:
    """Who approved this run for production, with their comments: a reason for the journal.

    `asked_by` is whose push or request started it; empty where a person started this run. Raises
    RefusedError where somebody asked and only they, or the author of the trained `commit`,
    approved.
    """
    if os.environ.get("GITLAB_CI"):
        return gitlab.describe_start(asked_by)
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


def is_registry_shared() -> bool:
    """Whether all runs use one tracking server, so that no registry has to be moved between them.

    Raises ParamsError for a bare database: the files of its models would be left on this machine,
    which is deleted after the run.
    """
    uri = store_location.find_uri()
    if uri.startswith("sqlite:///"):
        return False
    if uri.startswith(("https://", "http://")):
        return True
    raise ParamsError(
        "MLFLOW_TRACKING_URI names a database; workflows need an MLflow server, which also keeps "
        "files"
    )


def _list_approvals(repository: str, run: str) -> dict[str, str]:
    """Who approved the run for production, and the comment of each."""
    path = f"repos/{repository}/actions/runs/{run}/approvals"
    reviews: list[dict[str, Any]] = json.loads(github_release.run_gh("api", path))
    approvals = {}
    for review in reviews:
        environments = [environment["name"] for environment in review["environments"]]
        if review["state"] == "approved" and ENVIRONMENT in environments:
            approvals[review["user"]["login"]] = review["comment"] or "no comment"
    return approvals


def _find_author(repository: str, commit: str) -> str:
    path = f"repos/{repository}/commits/{commit}"
    return github_release.run_gh("api", path, "--jq", ".author.login").strip()


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
