"""Run jobs of .gitlab-ci.yml in shells, by gitlab-ci-local, against a GitLab that answers here."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.support.checkouts import ROOT, Checkout
from tests.support.workflows.expressions import find_parser
from tests.support.workflows.runner import parsed_outputs

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

    def answer(self, method: str, path: str, body: bytes, token: str) -> tuple[int, Any]:
        """The status and the answer to a request to this project."""
        name, _, query = path.partition("?")
        parts = name.split("/")
        if token != ("notes" if "notes" in parts else "job"):
            return 401, {"message": "401 Unauthorized"}
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
        return 404, {"message": f"404 {method} {name} {query}"}


def serve_project(project: Project) -> ThreadingHTTPServer:
    """A server for tests.support.loopback.run_server, which answers as GitLab's API."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def answer(self) -> None:
            path = self.path.removeprefix("/api/v4/projects/7/")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = self.headers.get("JOB-TOKEN") or self.headers.get("PRIVATE-TOKEN") or ""
            status, found = project.answer(self.command, path, body, token)
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


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
        program = find_parser().folder / "node_modules/.bin/gitlab-ci-local"
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
