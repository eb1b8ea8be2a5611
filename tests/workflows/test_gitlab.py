"""The life of a model on GitLab: each job's script in a shell, with real DVC, MLflow, plumbline.

gitlab-ci-local runs the jobs of .gitlab-ci.yml, against a GitLab that answers here.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.support.checkouts import ROOT, Checkout
from tests.support.loopback import Answer, Request, serve_answers
from tests.support.workflows.github_parser import install_packages
from tests.support.workflows.runner import (
    Hosting,
    name_candidate,
    parsed_outputs,
    write_requests,
)

from plumbline.ci import kept_registry

WEAK, BETTER = "{kind: gradient, learning_rate: 0.05, max_epochs: 9}", "{kind: least_squares}"
LOOKED_AT = ("PLUMBLINE_REQUESTS", "PLUMBLINE_OUTCOMES")
OPTIONS = ("--force-shell-executor", "--shell-isolation", "--no-artifacts-to-source")
PREDEFINED = "CI_API_V4_URL,CI_COMMIT_BRANCH,CI_DEFAULT_BRANCH,CI_JOB_TOKEN,CI_PIPELINE_SOURCE"
PREDEFINED += ",CI_PROJECT_ID,GITLAB_USER_LOGIN,GITLAB_USER_EMAIL,CI_MERGE_REQUEST_IID,CI"
# `make` finds this very environment, as if a cache had brought it.
MAKE = """#!/bin/sh
[ -e .venv ] || (cd "{root}" && PYTHONPATH="{root}" "{python}" -c '
from pathlib import Path; from tests.support.workflows import runner
runner.link_environment(Path("'"$OLDPWD"'"))')
exec "{make}" "$@"
"""


@dataclass
class Project:
    """What GitLab keeps of a project: its packages, notes, and the trainings that were asked for.

    Packages are bytes by version, in the order in which they came.
    """

    packages: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    may_delete: bool = True  # a Developer may not

    def answer(self, request: Request) -> Answer:
        """Answer a request to this project as GitLab's API does."""
        name, _, query = request.path.removeprefix("/api/v4/projects/7/").partition("?")
        parts = name.split("/")
        token = request.headers.get("job-token") or request.headers.get("private-token")
        found: tuple[int, Any] = (401, {"message": "401 Unauthorized"})
        if token == ("notes" if "notes" in parts else "job"):
            found = self.act(request.method, parts, query, request.body)
        status, content = found
        is_file = isinstance(content, bytes)
        return Answer(content if is_file else json.dumps(content).encode(), status)

    def act(self, method: str, parts: list[str], query: str, body: bytes) -> tuple[int, Any]:
        """Return the status and the answer to a request that is allowed."""
        match method, parts:
            case "GET", ["packages"]:
                found = reversed([*enumerate(self.packages, 1)])
                return 200, [{"id": i, "name": "registry", "version": v} for i, v in found]
            case "PUT", ["packages", "generic", "registry", version, _]:
                self.packages[version] = body
                return 201, {"message": "201 Created"}
            case "GET", ["packages", "generic", "registry", version, _]:
                return 200, self.packages[version]
            case "DELETE", ["packages", _] if not self.may_delete:
                return 403, {"message": "403 Forbidden"}
            case "DELETE", ["packages", number]:
                self.packages.pop([*self.packages][int(number) - 1])
                return 204, b""
            case "POST", ["trigger", "pipeline"]:
                self.started.append(parse_qs(body.decode())["ref"][0])
                return 201, {}
            case "GET", ["merge_requests", "5", "notes"]:
                return 200, [{"id": i, "body": text} for i, text in enumerate(self.notes)]
            case "POST", ["merge_requests", "5", "notes"]:
                self.notes.append(parse_qs(body.decode())["body"][0])
                return 201, {}
            case "PUT", ["merge_requests", "5", "notes", number]:
                self.notes[int(number)] = parse_qs(body.decode())["body"][0]
                return 200, {}
        return 404, {"message": f"404 {method} {parts} {query}"}


@dataclass
class Pipeline:
    """A pipeline of the origin's last commit; jobs run one after another, each in a new clone."""

    origin: Checkout
    folder: Path
    variables: Mapping[str, str]  # beside those that every pipeline has

    def __post_init__(self) -> None:
        if shutil.which("rsync") is None:
            pytest.skip("gitlab-ci-local copies files by rsync, which is not installed")
        self.clone = self.folder / "clone"
        self.folder.mkdir(parents=True)
        self.origin.run("git", "clone", "-q", self.origin.path.as_uri(), str(self.clone))
        self._git("remote", "set-url", "origin", "https://gitlab.example/owner/router.git")
        self._git("config", "user.name", "ada")
        make = self.folder / "make"
        make.write_text(MAKE.format(root=ROOT, python=sys.executable, make=shutil.which("make")))
        make.chmod(0o755)

    def list_jobs(self) -> dict[str, str]:
        """When each job of this pipeline starts, by its name."""
        said = self._call("--list-json").stdout
        assert "[\n" in said, said
        jobs = json.loads(said[said.index("[\n") :])
        return {job["name"]: job["when"] for job in jobs if job["when"] != "never"}

    def run(self, job: str, **variables: str) -> tuple[int, str, dict[str, str]]:
        """Run a job; its exit code, what it printed, and the variables that it set."""
        done = self._call(*OPTIONS, job, **variables)
        found = self.clone / f".gitlab-ci-local/artifacts/{job}/.gitlab-ci-reports/dotenv"
        outputs = [parsed_outputs(file.read_text()) for file in found.glob("outputs.env")]
        return done.returncode, done.stdout, outputs[0] if outputs else {}

    def _call(self, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        own = self.origin.environment
        variables = own | {
            "PATH": f"{self.folder}:{own['PATH']}",
            "PYTHONPATH": "$CI_PROJECT_DIR/src",
            "CI": "true",
            "CI_COMMIT_BRANCH": "main",
            "CI_DEFAULT_BRANCH": "main",
            "CI_JOB_TOKEN": "job",
            "CI_PIPELINE_SOURCE": "push",
            "CI_PROJECT_ID": "7",
            "GITLAB_USER_LOGIN": "ada",
            "GITLAB_USER_EMAIL": "ada@example.com",
        }
        variables |= dict(self.variables) | more
        options = [f"--variable={name}={text}" for name, text in variables.items()]
        program = install_packages() / "node_modules/.bin/gitlab-ci-local"
        command = ["node", str(program), *options, "--no-evaluate-rule-changes", *arguments]
        environment = own | {"GCL_IGNORE_PREDEFINED_VARS": PREDEFINED}
        return subprocess.run(
            command,
            cwd=self.clone,
            env=environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _git(self, *arguments: str) -> None:
        self.origin.run("git", "-C", str(self.clone), *arguments)


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
    with serve_answers(project.answer) as address:
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
            {"CI_PIPELINE_SOURCE": "schedule"} | dict.fromkeys(LOOKED_AT, "s3://x"),
            {"drift": "on_success", "due": "on_success", "promote": "manual"},
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


@pytest.fixture(scope="module")
def trained(gitlab: GitLab) -> dict[str, str]:
    """What the first training set; its version is the first champion."""
    code, log, outputs = gitlab.begin().run("train")
    assert code == 0, log
    assert list(gitlab.project.packages) == ["0.0.1"]
    return outputs


@pytest.mark.slow
def test_one_commit_has_one_verdict_and_bundle_on_both_forges(
    gitlab: GitLab, trained: dict[str, str], tmp_path: Path
) -> None:
    there = Hosting(gitlab.line, tmp_path).run("retrain")["train"].outputs
    for name in ("verdict", "waits", "model", "version", "bundle", "champion"):
        assert trained[name] == there[name], name
    assert trained["verdict"] == "promote"


@pytest.mark.slow
def test_somebody_else_promotes_a_refusal_is_red_and_a_person_goes_back(
    gitlab: GitLab, trained: dict[str, str]
) -> None:
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

    gitlab.push("floor: 0.1", "floor: 0.0001")
    code, log, outputs = gitlab.begin().run("train")
    assert code != 0, log
    assert (outputs["verdict"], list(gitlab.project.packages)[-1]) == ("refuse", "0.0.4")

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
    with serve_answers(project.answer) as address:
        variables = {"GITLAB_CI": "true", "CI_API_V4_URL": f"{address}/api/v4"}
        for name, text in (variables | {"CI_PROJECT_ID": "7", "CI_JOB_TOKEN": "job"}).items():
            monkeypatch.setenv(name, text)
        assert kept_registry.keep(tmp_path) == "registry-000021.tar"
    assert len(project.packages) == 21
    assert "as GitLab refused DELETE packages/1: 403" in capsys.readouterr().err


@pytest.mark.slow
def test_a_merge_request_has_one_note(gitlab: GitLab, trained: dict[str, str]) -> None:
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
def test_a_night_asks_for_what_lasts_and_for_what_is_due(
    gitlab: GitLab, trained: dict[str, str], tmp_path: Path
) -> None:
    night = {"CI_PIPELINE_SOURCE": "schedule", "PLUMBLINE_REQUESTS": str(tmp_path / "requests")}
    for day, low in enumerate((-1.0, 0.5, 0.5)):
        assert gitlab.project.started == []
        write_requests(tmp_path / "requests", day, low)
        code, log, _ = gitlab.begin(**night).run("drift")
        assert code == 0, log
    assert gitlab.project.started == ["main"]
    code, log, _ = gitlab.begin(**night, PLUMBLINE_OUTCOMES="labels.csv").run("promote")
    assert (code, "no trial was won in this pipeline" in log) == (0, True), log  # it may fail
    gitlab.push("per_day: 1", "per_day: 1, every_days: 7")
    code, log, _ = gitlab.begin(**night).run("due")
    assert (code, gitlab.project.started) == (0, ["main"]), log
    gitlab.project.packages.clear()
    code, log, _ = gitlab.begin(**night).run("due")
    assert (code, gitlab.project.started) == (0, ["main"] * 2), log
    assert list(gitlab.project.packages) == ["0.0.1"]
