"""What each stage leaves for MLflow: one small file, .plumbline/stages/<stage>[-<candidate>].json.

`delivery` brings it to MLflow. Stages do not know who started them, so the pass of the pipeline
that a run belongs to follows from the records: it is open until `register` ends, a stage fails, a
stage that it has already runs again, or the commit, params or experiment change.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from plumbline.contract import layout
from plumbline.contract.dotted_keys import flatten
from plumbline.contract.params import Params
from plumbline.process.files import (
    digest_path,
    read_json,
    read_json_object,
    write_aside,
    write_json,
)
from plumbline.process.lineage import collect_lineage
from plumbline.process.running import identify_process
from plumbline.sources.shown_params import hide_secrets_in_values
from plumbline.tracking.context import describe_context

FOLDER = Path(".plumbline/stages")
DELIVERED = Path(".plumbline/tracked.json")
RUNNING, FINISHED, FAILED, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
LAST_STAGE = "register"
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
    curves: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    def add_curve(self, path: Path, prefix: str = "") -> None:
        """Name a table of metrics by epoch."""
        self.curves.append({"path": str(path), "prefix": prefix})

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
    whole: dict[str, Any]  # the pass: its key, name, start, tags, and what its stages share
    tags: dict[str, str]
    started: int  # ms since 1970
    ended: int | None = None
    status: str = RUNNING
    facts: RunFacts = field(default_factory=RunFacts)
    digests: dict[str, str] = field(default_factory=dict)  # of its curves and files, at its end
    group: str = ""  # the folder of records that are of no stage

    @property
    def key(self) -> str:
        """What names the run in MLflow: its pass, and its place in that."""
        return f"{self.whole['key']}, {self.name}"

    @property
    def path(self) -> Path:
        """The file of this record."""
        return FOLDER / self.group / f"{self.name.replace(' ', '-')}.json"

    def write(self) -> None:
        """Write the record; a reader sees the whole of it, or what was there before."""
        content = asdict(self)
        for described in (content["facts"], *content["facts"]["models"]):
            described["params"] = show_params(described["params"])
        with write_aside(self.path) as aside:
            aside.write_text(json.dumps(content, indent=2), encoding="utf-8")  # NaN may be

    def end(self, status: str, facts: RunFacts, error: str = "") -> None:
        """Record how the run ended, and what it left."""
        self.status = status
        self.ended = read_clock_ms()
        self.facts = facts
        if error:
            self.tags[ERROR_TAG] = error[:MAX_ERROR]
        for entry in [*facts.curves, *facts.files]:
            path = Path(entry["path"])
            if path.exists():
                self.digests[str(path)] = digest_path(path)
        self.write()


def begin(params: Params, stage: str, candidate: str | None, facts: RunFacts) -> RunRecord:
    """Write the record of a run that begins: in the open pass, else in a new one."""
    name = f"{stage} {candidate}" if candidate else stage
    shared = _describe_shared(params)
    whole = _find_open_pass(shared, name) or _create_pass(params, shared)
    tags = describe_process(stage, candidate)
    tags |= {f"plumbline.{key}": value for key, value in collect_lineage().items()}
    model = params.registry.model
    record = RunRecord(name, stage, candidate, model, whole, tags, read_clock_ms(), facts=facts)
    _keep_waiting(record)
    record.write()
    return record


def describe_process(stage: str, candidate: str | None) -> dict[str, str]:
    """Describe by tags who runs a stage, where and from what."""
    tags = {"plumbline.candidate": candidate} if candidate else {}
    return {
        **describe_context(),
        **tags,
        "plumbline.stage": stage,
        PROCESS_TAG: identify_process(os.getpid()),
        FOLDER_TAG: str(Path.cwd().resolve()),
    }


def find_own(stage: str) -> RunRecord | None:
    """Find the record of the stage that this process runs; None where nothing is tracked."""
    process = identify_process(os.getpid())
    for record in list_records():
        if record.stage == stage and record.tags[PROCESS_TAG] == process and not record.ended:
            return record
    return None


def list_records() -> list[RunRecord]:
    """Read the newest record of each stage and candidate, in the order in which they began."""
    return sorted(map(read_record, FOLDER.glob("*.json")), key=lambda record: record.started)


def read_record(path: Path) -> RunRecord:
    """Read a record; ValueError where the file is none, as one of another release may be."""
    try:
        content = read_json(path)
        return RunRecord(**content | {"facts": RunFacts(**content["facts"])})
    except (ValueError, TypeError, LookupError):
        raise ValueError(f"{path}: not a record of a stage; remove it") from None


def show_params(values: Mapping[str, Any]) -> dict[str, str]:
    """Name nested parameters by dotted keys, and leave the secrets of addresses out."""
    return {key: str(hide_secrets_in_values(value)) for key, value in flatten(values)}


def is_delivered(path: Path) -> bool:
    """Whether MLflow has all that a record says now."""
    return read_delivered().get(str(path)) == describe_state(path)


def read_delivered() -> dict[str, list[Any]]:
    """Read what MLflow has: the state of each record by its path."""
    try:
        return read_json_object(DELIVERED)
    except (OSError, ValueError):  # written again, and nothing is there twice
        return {}


def note_delivered(path: Path, mark: list[Any]) -> None:
    """Note that MLflow has what a record said in this state."""
    write_json(DELIVERED, read_delivered() | {str(path): mark})


def describe_state(path: Path) -> list[Any]:
    """Identify what a record says, with the curves that grow while the stage is at work."""
    record = read_record(path)
    curves = [] if record.ended else [Path(curve["path"]) for curve in record.facts.curves]
    return [digest_path(path), *(c.stat().st_mtime_ns for c in curves if c.exists())]


def read_clock_ms() -> int:
    """Return the time as MLflow counts it, in milliseconds."""
    return int(time.time() * 1000)


def _keep_waiting(record: RunRecord) -> None:
    """Give a record that waits for MLflow another name, before that of a later pass replaces it."""
    if record.path.exists() and not is_delivered(record.path):
        earlier = read_record(record.path)
        if earlier.key != record.key:
            record.path.rename(record.path.with_suffix(f".{earlier.started}.json"))


def _describe_shared(params: Params) -> dict[str, Any]:
    """Describe what has to be equal in all stages of a pass."""
    return {
        "folder": str(Path.cwd().resolve()),
        "model": params.registry.model,
        "params": digest_path(layout.PARAMS) if layout.PARAMS.exists() else "",
        "experiment": os.environ.get("DVC_EXP_NAME", ""),
        "git": {key: value for key, value in describe_context().items() if "git" in key},
    }


def _find_open_pass(shared: dict[str, Any], name: str) -> dict[str, Any] | None:
    records = list_records()
    if not records:
        return None
    newest = records[-1]
    is_closed = newest.status == FAILED or (
        newest.stage == LAST_STAGE and newest.status == FINISHED
    )
    if is_closed or newest.whole["shared"] != shared:
        return None
    ran = [each for each in records if each.name == name and each.status == FINISHED]
    if any(each.whole["key"] == newest.whole["key"] for each in ran):
        return None
    return newest.whole


def _create_pass(params: Params, shared: dict[str, Any]) -> dict[str, Any]:
    context = describe_context()
    commit = context.get("mlflow.source.git.commit", "")
    words = [params.registry.model, commit[:7], shared["experiment"]]
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    process = {PROCESS_TAG: identify_process(os.getpid()), FOLDER_TAG: shared["folder"]}
    experiment = {"plumbline.dvc_experiment": shared["experiment"]} if shared["experiment"] else {}
    return {
        "key": f"{moment}-{token_hex(3)}",
        "name": " ".join(word for word in words if word),
        "started": read_clock_ms(),
        "tags": context | process | experiment,
        "shared": shared,
    }
