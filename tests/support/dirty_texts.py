"""Ingest and validate as the doors in pipelines/ run them, in this process."""

import copy
import json
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.yaml_file import load_yaml
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ROOT = Path(__file__).resolve().parents[2]


def make_values(source: Any) -> dict[str, Any]:
    """Return the repository's params.yaml with the given source."""
    values = copy.deepcopy(load_yaml(ROOT / "recipes/text_classification.yaml"))
    values["data"] |= {"source": source, "watch": "."}
    values["data"]["columns"]["metadata"] = []
    values["evaluation"]["slices"] = []
    return values


def run_stages(source: Any, **validation: Any) -> tuple[str, str]:
    """Return where data is stopped, and the message; writes to the current folder.

    Ingest has refused it, validate has rejected it, or it is accepted.
    """
    values = make_values(source)
    values["validation"] |= validation
    return run_with(TextParams.model_validate(values))


def run_with(params: TextParams) -> tuple[str, str]:
    """Return the same for any parameters."""
    try:
        ingest(params, TASK)
    except PlumblineError as error:
        return "refused", str(error)
    try:
        validate(params, TASK)
    except PlumblineError as error:
        return "rejected", str(error)
    return "accepted", ""


def read_checks() -> dict[str, Any]:
    """Return the checks in reports/validation.json, by name."""
    report = json.loads(layout.VALIDATION.read_text(encoding="utf-8"))
    return {check["name"]: check for check in report["checks"]}
