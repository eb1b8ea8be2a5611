"""Run the jobs of a workflow as GitHub does: fresh clones, `run:` in bash, outputs in files."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT, Checkout, warm_commands
from tests.support.workflows.github_parser import fill, holds

HUB = ROOT / "tests/support/workflows/hub.py"
EVENT = {
    "ref": "refs/heads/main",
    "repository": "owner/router",
    "event_name": "push",
    "actor": "ada",
}
BOT = "github-actions[bot]"
# What a job and a step may say here; other keys would be ignored in silence.
JOB_KEYS = {"name", "if", "needs", "runs-on", "timeout-minutes", "environment", "permissions"}
JOB_KEYS |= {"env", "outputs", "steps"}
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env", "timeout-minutes", "shell"}


@dataclass
class Job:
    """What came of a job; `log` is all that its steps printed."""

    result: str = "success"
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Hosting:
    """A repository with its releases and variables; `origin` is the checkout to clone from."""

    origin: Checkout
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)  # of repository and environments
    secrets: dict[str, str] = field(default_factory=dict)  # of its environments alone
    between: Callable[[str], None] = lambda name: None  # called before each job, with its name

    def __post_init__(self) -> None:
        self.hub, self.bin = self.folder / "hub", self.folder / "bin"
        self.hub.mkdir()
        self.bin.mkdir()
        (self.hub / "author").write_text("ada")
        (self.bin / "gh").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HUB}" "$@"\n')
        (self.bin / "gh").chmod(0o755)
        self.runs = 0

    def approve(self, *reviews: tuple[str, str, str]) -> None:
        """Who will have reviewed the next run, for which environment, and what came of it."""
        write_reviews(self.hub / f"{self.runs + 1}.json", *reviews)

    def kept(self) -> list[str]:
        """The registries in the release, oldest first."""
        return sorted(path.name for path in (self.hub / "release").glob("*"))

    def told(self, what: str) -> list[Any]:
        """`asked`, `comments` or `releases`: what came in from the workflows."""
        path = self.hub / f"{what}.json"
        return json.loads(path.read_text()) if path.exists() else []

    def run(
        self, name: str, inputs: Mapping[str, str] | None = None, **event: Any
    ) -> dict[str, Job]:
        """Run a workflow from the origin's last commit; its jobs by name, in the order they ran."""
        self.runs += 1
        sha = self.origin.head
        told = EVENT | {"sha": sha, "run_id": str(self.runs), "run_number": self.runs} | event
        return Run(self, name, inputs or {}, told).jobs()

    def run_asked(self) -> dict[str, Job]:
        """Run what a workflow asked for last."""
        name, inputs = self.told("asked")[-1]
        event = {"event_name": "workflow_dispatch", "actor": BOT}
        return self.run(name.removesuffix(".yml"), inputs, **event)


def write_reviews(file: Path, *reviews: tuple[str, str, str]) -> None:
    """What GitHub's API says of who reviewed a run, for which environment, and with which state."""
    told = [
        {"user": {"login": who}, "environments": [{"name": where}], "state": state}
        for who, where, state in reviews
    ]
    file.write_text(json.dumps([review | {"comment": "looked\nat it"} for review in told]))


class Run:
    """One run of one workflow."""

    def __init__(
        self, hosting: Hosting, name: str, inputs: Mapping[str, str], event: Mapping[str, Any]
    ) -> None:
        self.hosting, self.event = hosting, event
        self.folder = hosting.folder / f"run{hosting.runs}"
        self.artifacts = self.folder / "artifacts"
        self.artifacts.mkdir(parents=True)
        self.workflow = _yaml(hosting.origin.path / f".github/workflows/{name}.yml")
        declared = self.workflow["on"].get("workflow_dispatch") or {}
        self.inputs = {
            key: told.get("default", "") for key, told in declared.get("inputs", {}).items()
        } | dict(inputs)

    def jobs(self) -> dict[str, Job]:
        done: dict[str, Job] = {}
        for name, job in self.workflow["jobs"].items():  # each stands after those it needs
            asked = job.get("needs", [])
            needs = {need: done[need] for need in ([asked] if isinstance(asked, str) else asked)}
            done[name] = self._job(name, job, needs)
        return done

    def _job(self, name: str, job: Mapping[str, Any], needs: Mapping[str, Job]) -> Job:
        known = {
            "github": self.event
            | {"token": json.dumps(job["permissions"]), "workspace": str(self.folder / name)},
            "inputs": self.inputs,
            "vars": self.hosting.variables,
            "secrets": self.hosting.secrets if "environment" in job else {},
            "runner": {"temp": str(self.folder / f"{name}.temp")},
            "needs": {
                need: {"result": found.result, "outputs": found.outputs}
                for need, found in needs.items()
            },
        }
        fine = all(found.result == "success" for found in needs.values())
        if not holds(job.get("if"), known, is_fine=fine):
            return Job("skipped")
        if "uses" in job:  # another workflow, which is run by itself
            return Job()
        self.hosting.between(name)
        _refuse_others(job, JOB_KEYS)
        done = Job(environment=fill(job.get("env", {}), known, is_fine=True))
        work = self.folder / name
        work.mkdir()
        Path(known["runner"]["temp"]).mkdir()
        for step in job["steps"]:
            self._step(step, work, known | {"steps": done.steps}, done)
        outputs = {"steps": done.steps, **known}
        done.outputs = fill(job.get("outputs", {}), outputs, is_fine=True)
        return done

    def _step(
        self, step: Mapping[str, Any], work: Path, known: Mapping[str, Any], done: Job
    ) -> None:
        _refuse_others(step, STEP_KEYS)
        is_fine = done.result == "success"
        told: dict[str, Any] = {"outcome": "skipped", "outputs": {}}
        if "id" in step:
            done.steps[step["id"]] = told
        if not holds(step.get("if"), known, is_fine=is_fine):
            return
        given = fill(step.get("with", {}), known, is_fine=is_fine)
        action = step.get("uses", "").partition("@")[0]
        if action.startswith("$/"):
            described = _yaml(self.hosting.origin.path / action[2:] / "action.yml")
            for inner in described["runs"]["steps"]:
                self._step(inner, work, known | {"inputs": given}, done)
            return
        if action:
            fine = self._use(action, given, work, told["outputs"])
        else:
            more = done.environment | fill(step.get("env", {}), known, is_fine=is_fine)
            fine = self._script(step["run"], work, more, told["outputs"], done)
        told["outcome"] = "success" if fine else "failure"
        if not fine:
            done.result = "failure"

    def _script(
        self, script: str, work: Path, more: Mapping[str, str], outputs: dict[str, str], done: Job
    ) -> bool:
        names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")
        files = {name: self.folder / name.lower() for name in names}
        for path in files.values():
            path.write_text("")
        environment = {
            **self.hosting.origin.environment,
            "PATH": f"{self.hosting.bin}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(work / "src"),
            "HUB": str(self.hosting.hub),
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": self.event["actor"],
            "GITHUB_EVENT_NAME": self.event["event_name"],
            "RUNNER_TEMP": f"{work}.temp",
            "GITHUB_REPOSITORY": self.event["repository"],
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_RUN_ID": self.event["run_id"],
            **{name: str(path) for name, path in files.items()},
            **more,
        }
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        ran = subprocess.run(command, cwd=work, env=environment, check=False, **both)
        done.log += ran.stdout
        done.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        outputs.update(parsed_outputs(files["GITHUB_OUTPUT"].read_text()))
        done.environment |= parsed_outputs(files["GITHUB_ENV"].read_text())
        return ran.returncode == 0

    def _use(
        self, action: str, given: Mapping[str, str], work: Path, outputs: dict[str, str]
    ) -> bool:
        match action:
            case "actions/checkout":
                assert given["persist-credentials"].lower() == "false"
                url = self.hosting.origin.path.as_uri()
                depth = [] if given.get("fetch-depth") == "0" else ["--depth", "1"]
                # Of main's last commit, which is what events name here.
                _git("clone", "--quiet", *depth, url, str(work))
            case "actions/setup-python":
                link_environment(work)
            case "actions/upload-artifact":
                found = [path for line in given["path"].split() for path in work.glob(line)]
                if not found:
                    return given["if-no-files-found"] != "error"
                # What all of them lie in.
                top = found[0] if len(found) == 1 and found[0].is_dir() else work
                files = [file for path in found for file in (path, *path.rglob("*"))]
                folder = self.artifacts / given["name"]
                shutil.rmtree(folder, ignore_errors=given["overwrite"] == "true")
                for file in files:
                    inside = file.relative_to(top)
                    if file.is_file() and not any(part.startswith(".") for part in inside.parts):
                        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy2(file, folder / inside)
                outputs["artifact-id"] = given["name"]
            case "actions/download-artifact":
                artifact, target = self.artifacts / given["name"], work / given.get("path", ".")
                if not artifact.is_dir():
                    return False
                shutil.copytree(artifact, target, dirs_exist_ok=True)
            case "actions/attest":
                return any(work.glob(given["subject-path"]))
            case _:
                pytest.fail(f"{action} is not known here")
        return True


def name_candidate(line: Checkout, candidate: str) -> None:
    """Let a repository of lines have this one candidate, in a commit."""
    params = line.path / "params.yaml"
    only = f"candidates:\n  only: {candidate}\n"
    text = re.sub(r"(?ms)^candidates:\n.*?(?=^training)", only, params.read_text())
    params.write_text(text.replace("candidates: [closed]", "candidates: [only]"))
    line.run("git", "commit", "-qam", "one candidate")


def write_requests(folder: Path, day: int, low: float, num_rows: int = 300) -> None:
    """A day's log of requests to version 1 of the line, as the server writes it."""
    folder.mkdir(exist_ok=True)
    x = [low + (row + day / 10) / 301 * (1 - low) for row in range(num_rows)]
    at = pd.Timestamp.now(tz="UTC")
    about = {"at": at, "model": "line", "version": "1", "side": "champion", "ms": 1.0}
    pd.DataFrame({"input.x": x, "output.y": [2 * one + 1 for one in x]}).assign(**about).to_parquet(
        folder / f"requests-{at:%Y%m%dT%H%M%S}-1-{day}.parquet"
    )


def parsed_outputs(text: str) -> dict[str, str]:
    """What a step wrote into GITHUB_OUTPUT: name=value, or name<<END, lines, END."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, mark, rest = re.split("(=|<<)", line, maxsplit=1)
        found[name] = rest if mark == "=" else "\n".join(iter(lambda: next(lines), rest))
    return found


def _refuse_others(said: Mapping[str, Any], known: set[str]) -> None:
    """Fail where a job or step says what is not carried out here."""
    if others := set(said) - known:
        pytest.fail(f"{said.get('name')}: {sorted(others)} are not known here")


def link_environment(work: Path) -> None:
    """Let `make setup` find this very environment, as if it had installed it."""
    venv = work / ".venv"
    (venv / "bin").mkdir(parents=True)
    for path in Path(sys.prefix).iterdir():
        if not path.name.startswith("ready") and path.name != "bin":
            (venv / path.name).symlink_to(path)
    for folder in (*warm_commands, Path(sys.prefix) / "bin"):
        for path in folder.iterdir():
            if not (venv / "bin" / path.name).is_symlink():
                (venv / "bin" / path.name).symlink_to(path)
    for name in ("ready", "ready-remotes"):
        (venv / name).touch()


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _yaml(path: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))
