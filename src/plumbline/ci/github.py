"""GitHub as a workflow's step meets it: outputs, summary, annotations, and who approved its run."""

import json
import os
import uuid
from pathlib import Path
from typing import Any, Literal

from plumbline.ci import github_release
from plumbline.contract.errors import ParamsError, PlumblineError, RefusedError
from plumbline.tracking import mlflow_runs

ENVIRONMENT = "production"


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


def approval(asked_by: str, commit: str) -> str:
    """This run, and who approved it for production, with what they said: a reason for the journal.

    `asked_by` is whose push or request led to it; empty where a person started this very run. Raises RefusedError
    where somebody asked, and nobody approved but them or the author of the `commit` that was trained.
    """
    repository, run = (os.environ.get(f"GITHUB_{name}", "") for name in ("REPOSITORY", "RUN_ID"))
    if not repository or not run:
        raise PlumblineError("--asked-by is for a job of GitHub Actions; elsewhere give a --reason")
    reviews: list[dict[str, Any]] = json.loads(
        github_release.gh("api", f"repos/{repository}/actions/runs/{run}/approvals")
    )
    approved = {
        review["user"]["login"]: review["comment"] or "no comment"
        for review in reviews
        if review["state"] == "approved"
        and ENVIRONMENT in [found["name"] for found in review["environments"]]
    }
    if asked_by:
        author = github_release.gh(
            "api", f"repos/{repository}/commits/{commit}", "--jq", ".author.login"
        ).strip()
        if not set(approved) - {asked_by, author}:
            who = ", ".join(approved) or "nobody"
            raise RefusedError(
                f"run {run} was asked for by {asked_by}, on a commit of {author}, and approved by {who}: somebody else "
                f"has to. Nothing was changed. The environment {ENVIRONMENT} needs required reviewers "
                "(docs/operate.md), or a person runs the workflow `promote` by hand"
            )
    told = [f"approved by {who}: {comment}" for who, comment in approved.items()]
    return " ".join("; ".join([*told, f"run {run}"]).split())


def is_shared() -> bool:
    """Whether all runs use one tracking server, so that no registry has to travel.

    ParamsError for a bare database: the files of its models would be left on this machine, and it goes.
    """
    uri = mlflow_runs.uri()
    if uri.startswith("sqlite:///"):
        return False
    if uri.startswith(("https://", "http://")):
        return True
    raise ParamsError(
        "MLFLOW_TRACKING_URI names a database; workflows need an MLflow server, which keeps files as well"
    )


def _append(variable: str, text: str) -> None:
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _escaped(text: str, more: str = "") -> str:
    """So that text from data ends no line and begins no command."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
