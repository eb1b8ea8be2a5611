"""The life of a model on GitLab: each job's script in a shell, with real DVC, MLflow, plumbline."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout
from tests.support.loopback import run_server
from tests.support.workflows.gitlab import Pipeline, Project, serve_project
from tests.support.workflows.runner import Hosting

WEAK, BETTER = "{kind: gradient, learning_rate: 0.05, max_epochs: 9}", "{kind: least_squares}"


class GitLab:
    """A repository of lines with one candidate, in a project where nothing was set up."""

    def __init__(self, line: Checkout, folder: Path, address: str, project: Project) -> None:
        self.line, self.folder, self.project = line, folder, project
        self.address, self.count = f"{address}/api/v4", 0

    def begin(self, **variables: str) -> Pipeline:
        """A pipeline of the last commit."""
        self.count += 1
        fixed = {"CI_API_V4_URL": self.address, "REPORT_TOKEN": "notes"}
        return Pipeline(self.line, self.folder / str(self.count), fixed | variables)

    def push(self, old: str, new: str) -> None:
        self.line.replace("params.yaml", old, new)
        self.line.run("git", "commit", "-qam", f"{new} instead of {old}")


@pytest.fixture(scope="module")
def gitlab(
    line: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> Generator[GitLab, None, None]:
    params = line.path / "params.yaml"
    text = re.sub(
        r"(?ms)^candidates:\n.*?(?=^training)", f"candidates:\n  only: {WEAK}\n", params.read_text()
    )
    params.write_text(text.replace("candidates: [closed]", "candidates: [only]"))
    line.run("git", "add", "-A")
    line.run("git", "commit", "-qm", "one candidate")
    project = Project()
    with run_server(serve_project(project)) as address:
        yield GitLab(line, tmp_path_factory.mktemp("gitlab"), address, project)


@pytest.mark.parametrize(
    ("variables", "jobs"),
    [
        ({}, {"test": "on_success", "train": "on_success", "promote": "manual"}),
        ({"CI_PIPELINE_SOURCE": "pipeline"}, {"train": "on_success", "promote": "manual"}),
        ({"CI_PIPELINE_SOURCE": "web"}, {"train": "on_success", "promote": "manual"}),
        ({"CI_PIPELINE_SOURCE": "web", "ACTION": "rollback"}, {"decide": "on_success"}),
        ({"CI_PIPELINE_SOURCE": "schedule"}, {"due": "on_success"}),
        (
            {"CI_PIPELINE_SOURCE": "schedule", "PLUMBLINE_REQUESTS": "s3://x"},
            {"drift": "on_success", "due": "on_success"},
        ),
        (
            {"CI_PIPELINE_SOURCE": "merge_request_event"},
            {"test": "on_success", "report": "on_success", "note": "always"},
        ),
    ],
    ids=str,
)
def test_what_starts_when(gitlab: GitLab, variables: dict, jobs: dict) -> None:
    assert gitlab.begin(**variables).list_jobs() == jobs


@pytest.mark.slow
def test_one_commit_has_one_verdict_and_bundle_on_both_forges(
    gitlab: GitLab, tmp_path: Path
) -> None:
    code, log, outputs = gitlab.begin().run("train")
    assert code == 0, log
    there = Hosting(gitlab.line, tmp_path).run("retrain")["train"].outputs
    for name in ("verdict", "waits", "model", "version", "bundle", "champion"):
        assert outputs[name] == there[name], name
    assert outputs["verdict"] == "promote"
    assert list(gitlab.project.packages) == ["0.0.1"]


@pytest.mark.slow
def test_somebody_else_promotes_what_was_trained(gitlab: GitLab) -> None:
    gitlab.push(WEAK, BETTER)
    pipeline = gitlab.begin()
    code, log, outputs = pipeline.run("train")
    assert (code, outputs["waits"], outputs["champion"]) == (0, "yes", "1"), log
    _, log, _ = pipeline.run("promote")
    assert "this job was asked for by ada" in log
    assert list(gitlab.project.packages) == ["0.0.1", "0.0.2"]
    code, log, _ = pipeline.run(
        "promote", GITLAB_USER_LOGIN="grace", GITLAB_USER_EMAIL="grace@example.com"
    )
    assert "the champion is version 2, it was 1" in log
    assert (code, list(gitlab.project.packages)[-1]) == (0, "0.0.3")
