"""The life of a model on GitLab: each job's script in a shell, with real DVC, MLflow, plumbline."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout
from tests.support.loopback import run_server
from tests.support.workflows.gitlab import Pipeline, Project, serve_project
from tests.support.workflows.requests import write_requests
from tests.support.workflows.runner import Hosting, name_candidate

from plumbline.ci import kept_registry

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
    name_candidate(line, WEAK)
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


@pytest.mark.slow
def test_a_refusal_is_red_and_kept_and_a_person_goes_back(gitlab: GitLab) -> None:
    gitlab.push("floor: 0.1", "floor: 0.0001")
    code, log, outputs = gitlab.begin().run("train")
    assert (code != 0, outputs["verdict"], list(gitlab.project.packages)[-1]) == (
        True,
        "refuse",
        "0.0.4",
    ), log
    asked = {"MODEL": "line", "EXPECT": "2", "VERSION": "1", "BUNDLE": "", "REASON": "by hand"}
    by_hand = gitlab.begin(CI_PIPELINE_SOURCE="web", ACTION="rollback", **asked)
    code, log, _ = by_hand.run("decide")
    assert "the champion is version 1, it was 2" in log
    assert (code, list(gitlab.project.packages)[-1]) == (0, "0.0.5")
    code, log, _ = by_hand.run("decide", ACTION="promote", VERSION="2", EXPECT="1")
    assert (code != 0, list(gitlab.project.packages)[-1]) == (True, "0.0.5"), log


def test_what_only_a_maintainer_may_delete_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project({f"0.0.{number}": b"" for number in range(1, 21)}, may_delete=False)
    (tmp_path / "registry-000021.tar").write_bytes(b"a registry")
    with run_server(serve_project(project)) as address:
        variables = {"GITLAB_CI": "true", "CI_API_V4_URL": f"{address}/api/v4"}
        for name, text in (variables | {"CI_PROJECT_ID": "7", "CI_JOB_TOKEN": "job"}).items():
            monkeypatch.setenv(name, text)
        assert kept_registry.keep(tmp_path) == "registry-000021.tar"
    assert len(project.packages) == 21
    assert "as GitLab refused DELETE packages/1: 403" in capsys.readouterr().err


@pytest.mark.slow
def test_a_merge_request_has_one_note(gitlab: GitLab) -> None:
    kept = dict(gitlab.project.packages)
    request = gitlab.begin(CI_PIPELINE_SOURCE="merge_request_event", CI_MERGE_REQUEST_IID="5")
    _, log, _ = request.run("report")
    for _ in range(2):
        code, log, _ = request.run("note")
        assert code == 0, log
    (note,) = gitlab.project.notes
    assert "What changed since the champion" in note
    assert gitlab.project.packages == kept


@pytest.mark.slow
def test_a_night_asks_for_what_lasts_and_for_what_is_due(gitlab: GitLab, tmp_path: Path) -> None:
    night = {"CI_PIPELINE_SOURCE": "schedule", "PLUMBLINE_REQUESTS": str(tmp_path / "requests")}
    for day, low in enumerate((-1.0, 0.5, 0.5)):
        assert gitlab.project.started == []
        write_requests(tmp_path / "requests", day, low)
        code, log, _ = gitlab.begin(**night).run("drift")
        assert code == 0, log
    assert gitlab.project.started == ["main"]
    gitlab.push("per_day: 1", "per_day: 1, every_days: 7")
    code, log, _ = gitlab.begin(**night).run("due")
    assert (code, gitlab.project.started) == (0, ["main"]), log
    gitlab.project.packages.clear()
    code, log, _ = gitlab.begin(**night).run("due")
    assert (code, gitlab.project.started) == (0, ["main"] * 2), log
    assert list(gitlab.project.packages) == ["0.0.1"]
