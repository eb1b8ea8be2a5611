"""Ingest and validate as the doors in pipelines/ run them, in this process."""

import copy
import json
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import load_yaml
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"


def values(source: Any) -> dict[str, Any]:
    """The repository's params.yaml, with the given source in place of its own."""
    found = copy.deepcopy(load_yaml(ROOT / "params.yaml"))
    found["data"] |= {"source": source, "watch": "."}
    found["data"]["columns"]["metadata"] = []
    found["evaluation"]["slices"] = []
    return found


def walk(source: Any, **validation: Any) -> tuple[str, str]:
    """Where data is stopped (refused, rejected, or nowhere: accepted), and what is said; writes to the cwd."""
    found = values(source)
    found["validation"] |= validation
    params = TextParams.model_validate(found)
    try:
        ingest(params, TASK)
    except PlumblineError as error:
        return "refused", str(error)
    try:
        validate(params, TASK)
    except PlumblineError as error:
        return "rejected", str(error)
    return "accepted", ""


def checks() -> dict[str, Any]:
    """The checks in reports/validation.json, by name."""
    report = json.loads(layout.VALIDATION.read_text(encoding="utf-8"))
    return {check["name"]: check for check in report["checks"]}
