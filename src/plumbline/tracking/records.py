"""What each stage leaves for MLflow: a small file in .plumbline/tracking, until it is there."""

import getpass
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plumbline.contract.dotted_keys import flatten
from plumbline.contract.trainings import read_curve
from plumbline.process.files import digest_path, read_json, write_aside
from plumbline.process.lineage import ask_git
from plumbline.process.running import identify_process
from plumbline.sources.addresses import hide_secrets_in_text
from plumbline.sources.shown_params import hide_secrets_in_values

FOLDER = Path(".plumbline/tracking")
RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
PROCESS_TAG = "plumbline.process"  # id, start and boot of the process that logs it
FOLDER_TAG = "plumbline.folder"  # of the checkout, or of its copy for an experiment
ERROR_TAG = "plumbline.end"
MAX_ERROR = 500  # characters


@dataclass
class RunFacts:
    """What MLflow shows of one run of a stage, which the stage reads from what it wrote."""

    params: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    models: list[dict[str, Any]] = field(default_factory=list)
    model_metrics: dict[str, dict[str, float]] = field(default_factory=dict)  # by bundle
    pass_tags: dict[str, str] = field(default_factory=dict)
    pass_metrics: dict[str, float] = field(default_factory=dict)
    curves: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    def add_curve(self, path: Path, prefix: str = "") -> None:
        """Name a table of metrics by epoch."""
        self.curves.append({"path": str(path.resolve()), "prefix": prefix})

    def add_file(self, path: Path, folder: str = "") -> None:
        """Name a file or a folder to be kept, and where in the run."""
        self.files.append({"path": str(path), "folder": folder})


@dataclass
class RunRecord:
    """One run of a stage, or of what else has runs in MLflow."""

    name: str
    stage: str
    candidate: str | None
    experiment: str  # of MLflow
    pass_key: str  # names the run above it: a pass of the pipeline, or a search
    pass_name: str
    tags: dict[str, str]
    started: int  # ms since 1970
    ended: int | None = None
    status: str = RUNNING
    facts: RunFacts = field(default_factory=RunFacts)

    @property
    def key(self) -> str:
        """What names the run in MLflow: its pass, and its place in that."""
        return f"{self.pass_key}, {self.name}"

    @property
    def path(self) -> Path:
        """The file of this record; in the order of their names the oldest is the first."""
        return FOLDER / f"{self.started}-{self.name.replace(' ', '-')}.json"

    def write(self) -> None:
        """Write the record; a reader sees the whole of it, or what was there before."""
        content = asdict(self)
        for described in (content["facts"], *content["facts"]["models"]):
            described["params"] = show_params(described["params"])
        with write_aside(self.path) as aside:
            aside.write_text(json.dumps(content, indent=2), encoding="utf-8")  # NaN may be

    def end(self, status: str, facts: RunFacts, error: str = "") -> None:
        """Record how the run ended, and what it left: its files may be replaced before delivery."""
        self.status = status
        self.ended = read_clock_ms()
        self.facts = facts
        if error:
            self.tags[ERROR_TAG] = error[:MAX_ERROR]
        for curve in facts.curves:
            path = Path(curve["path"])
            curve["rows"] = read_curve(path) if path.exists() else []
        for file in facts.files:
            path = Path(file["path"])
            file["digest"] = digest_path(path) if path.exists() else ""
        self.write()


OWN: ContextVar[RunRecord | None] = ContextVar("own", default=None)  # of the stage at work here


def describe_process(stage: str, candidate: str | None) -> dict[str, str]:
    """Describe by tags who runs a stage, where and from what.

    `mlflow.*` are those of `mlflow.tracking.context`: MLflow itself would describe the process that
    writes, minutes later and perhaps at another commit.
    """
    tags = {
        "mlflow.user": _find_user(),
        "mlflow.source.name": sys.argv[0] or "<console>",
        "mlflow.source.type": "LOCAL",
        "host": socket.gethostname(),
        "plumbline.stage": stage,
        PROCESS_TAG: identify_process(os.getpid()),
        FOLDER_TAG: str(Path.cwd().resolve()),
    }
    if candidate:
        tags["plumbline.candidate"] = candidate
    commit = ask_git("rev-parse", "HEAD")
    if commit:
        tags["mlflow.source.git.commit"] = commit
        tags["mlflow.source.git.branch"] = ask_git("rev-parse", "--abbrev-ref", "HEAD") or ""
        url = ask_git("remote", "get-url", "origin")
        if url and "@" not in url:  # which may hold a password
            tags["mlflow.source.git.repoURL"] = url
    return tags


def read_record(path: Path) -> RunRecord:
    """Read a record; ValueError where the file is none, as one of another release may be."""
    try:
        content = read_json(path)
        return RunRecord(**content | {"facts": RunFacts(**content["facts"])})
    except (ValueError, TypeError, LookupError):
        raise ValueError(f"{path}: not a record of a stage; remove it") from None


def show_params(values: Mapping[str, Any]) -> dict[str, str]:
    """Name nested parameters by dotted keys, and leave the secrets of addresses out."""
    shown = {}
    for key, value in flatten(values):
        shown[hide_secrets_in_text(key)] = str(hide_secrets_in_values(value))
    return shown


def read_clock_ms() -> int:
    """Return the time as MLflow counts it, in milliseconds."""
    return int(time.time() * 1000)


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user without a name
        return "unknown"
