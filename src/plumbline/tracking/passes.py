"""Which pass of the pipeline a stage belongs to.

A pass is what one `dvc repro` does, and its continuation after a kill. Stages do not know who
started them, so the pass follows from what they share: it is open until `register` ends, a stage
fails, a stage that it has already runs again, or the commit, params or experiment change.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.process.files import digest_path
from plumbline.tracking import spool
from plumbline.tracking.context import describe_context
from plumbline.tracking.processes import identify_process
from plumbline.tracking.spool import SpooledRun

LAST_STAGE = "register"
# The file whose digest identifies what a stage wrote.
OUTPUTS = {
    "ingest": layout.MANIFEST,
    "validate": layout.VALIDATION,
    "evaluate": layout.EVIDENCE,
}


def open_run(params: Params, stage: str, candidate: str | None) -> SpooledRun:
    """Return where a run of `stage` is logged: in the open pass, else in a new one.

    A run of the same stage that a kill cut off is continued.
    """
    identity = _identify_pass(params)
    process = {"process": identify_process(os.getpid())}
    name = f"{stage} {candidate}" if candidate else stage
    folder = _find_open_pass(identity)
    if folder:
        same = [run for run in spool.list_runs(folder) if run.describe()["name"] == name]
        if same and same[-1].find_status() is None:
            spool.write_record(same[-1].folder / spool.RUN, same[-1].describe() | process)
            return same[-1]
        if same:
            close_pass(folder, params)
            folder = None
    folder = folder or _create_pass(identity)
    return spool.add_run(folder, name, {"stage": stage, "candidate": candidate} | process)


def close_pass(folder: Path, params: Params, *, is_complete: bool = False) -> None:
    """Close a pass: what it did not run, and needed, is recorded as restored.

    It is complete where DVC records its last stage as done, which it does not after a refusal.
    """
    runs = spool.list_runs(folder)
    names = {run.describe()["name"] for run in runs}
    last = runs[-1].describe()["stage"]
    for stage, candidate in _list_stages(params):
        if stage == last:
            break
        name = f"{stage} {candidate}" if candidate else stage
        output = digest_output(stage, candidate)
        if name in names or output is None:
            continue
        restored = {"stage": stage, "candidate": candidate, "restored": True, "output": output}
        run = spool.add_run(folder, name, restored)
        with spool.open_events(run) as file:
            end = {"kind": "end", "status": "FINISHED", "time": spool.read_clock_ms()}
            spool.write_event(file, end)
    spool.write_closed(folder, is_complete=is_complete)


def digest_output(stage: str, candidate: str | None) -> str | None:
    """Return the digest of what a stage wrote; None where there is nothing."""
    path = OUTPUTS.get(stage)
    if candidate:
        name = layout.name_control(candidate) if stage == "control" else candidate
        path = layout.locate_bundle(name) / layout.BUNDLE_SEAL
    return digest_path(path) if path and path.exists() else None


def _identify_pass(params: Params) -> dict[str, Any]:
    return {
        "folder": str(Path.cwd().resolve()),
        "model": params.registry.model,
        "params": digest_path(layout.PARAMS) if layout.PARAMS.exists() else "",
        "experiment": os.environ.get("DVC_EXP_NAME", ""),
        "tags": describe_context(),
        "by_dvc": "DVC_ROOT" in os.environ,
    }


def _find_open_pass(identity: dict[str, Any]) -> Path | None:
    """Find the pass that goes on; one of this folder that does not is closed for good."""
    for folder, recorded in spool.list_open_passes(Path(identity["folder"])):
        if recorded["identity"] == _digest(identity):
            return folder
        spool.write_closed(folder, is_complete=False)
    return None


def _create_pass(identity: dict[str, Any]) -> Path:
    folder = spool.create_folder()
    commit = identity["tags"].get("mlflow.source.git.commit", "")
    words = [identity["model"], commit[:7], identity["experiment"]]
    record = {"name": " ".join(word for word in words if word), "time": spool.read_clock_ms()}
    record |= {"identity": _digest(identity), "process": identify_process(os.getpid())}
    spool.write_record(folder / spool.PASS, identity | record)
    return folder


def _digest(identity: dict[str, Any]) -> str:
    """What has to be equal in all stages of a pass; the name of the stage's script differs."""
    tags = {key: value for key, value in identity["tags"].items() if "git" in key}
    return json.dumps(identity | {"tags": tags}, sort_keys=True)


def _list_stages(params: Params) -> Iterator[tuple[str, str | None]]:
    """List the stages in the order of dvc.yaml."""
    yield "ingest", None
    yield "validate", None
    for candidate in params.candidates:
        yield "train", candidate
    for candidate in params.control.candidates:
        yield "control", candidate
    yield "evaluate", None
    yield "register", None
