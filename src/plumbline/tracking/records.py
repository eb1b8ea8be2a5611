"""What each stage leaves for MLflow: a small file in .plumbline/tracking, until it is there."""

import getpass
import json
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
from plumbline.sources.addresses import hide_secrets_in_text
from plumbline.sources.shown_params import hide_secrets_in_values

FOLDER = Path(".plumbline/tracking")
RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
ERROR_TAG = "plumbline.end"
MAX_ERROR = 500  # characters


@dataclass
class RunFacts:
    """What MLflow shows of one run of a stage, which the stage reads from what it wrote."""

    params: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    pass_tags: dict[str, str] = field(default_factory=dict)
    pass_metrics: dict[str, float] = field(default_factory=dict)
    epochs: list[tuple[int, dict[str, float]]] = field(default_factory=list)  # with their metrics
    files: list[dict[str, str]] = field(default_factory=list)

    def add_curve(self, path: Path, prefix: str = "") -> None:
        """Add a table of metrics by epoch, if there is one."""
        for epoch, metrics in read_curve(path) if path.exists() else []:
            self.epochs.append((epoch, {prefix + key: value for key, value in metrics.items()}))

    def add_file(self, path: Path, folder: str = "") -> None:
        """Name a file or a folder to be kept as it is now, and where in the run."""
        self.files.append({"path": str(path), "folder": folder, "digest": digest_path(path)})


@dataclass
class RunRecord:
    """One run of a stage, or of what else has runs in MLflow."""

    name: str
    experiment: str  # of MLflow
    pass_key: str  # names the run above it: a pass of the pipeline, or a search
    pass_name: str
    tags: dict[str, str]
    started: int = field(default_factory=lambda: read_clock_ms())  # ms since 1970
    ended: int = 0
    status: str = KILLED
    facts: RunFacts = field(default_factory=RunFacts)

    @property
    def key(self) -> str:
        """What names the run in MLflow: its pass, and its place in that."""
        return f"{self.pass_key}, {self.name}"

    @property
    def path(self) -> Path:
        """The file of this record; in the order of their names the oldest is the first."""
        return FOLDER / f"{self.started}-{self.name.replace(' ', '-')}.json"

    def write(self, status: str, facts: RunFacts, error: str = "") -> None:
        """Write how far the run is or how it ended, and what it left, whole or not at all."""
        self.status, self.facts = status, facts
        self.ended = 0 if status == RUNNING else read_clock_ms()
        if error:
            self.tags[ERROR_TAG] = hide_secrets_in_text(error)[:MAX_ERROR]
        content = asdict(self)
        content["facts"]["params"] = show_params(self.facts.params)
        with write_aside(self.path) as aside:
            aside.write_text(json.dumps(content, indent=2), encoding="utf-8")  # NaN may be


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
    }
    if candidate:
        tags["plumbline.candidate"] = candidate
    commit = ask_git("rev-parse", "HEAD")
    if commit:
        tags["mlflow.source.git.commit"] = commit
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
