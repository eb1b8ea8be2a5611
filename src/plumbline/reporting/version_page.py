"""What MLflow shows of a version: the model card, and the metrics that find and compare it.

All of it only repeats the evidence; nothing decides by it.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.evidence.tracked_metrics import list_metrics
from plumbline.registry.model_versions import build_description
from plumbline.reporting.model_card import render_card
from plumbline.tracking.runs import write_metrics

if TYPE_CHECKING:
    from mlflow import MlflowClient

VERDICT_TAG = "plumbline.verdict"


def add_card(client: "MlflowClient", model_id: str, evidence: Mapping[str, Any]) -> None:
    """Put the model card into the package of a version."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        path = Path(folder) / layout.MODEL_CARD.name
        path.write_text(render_card(evidence), encoding="utf-8")
        client.log_model_artifact(model_id, str(path))


def link_metrics(
    client: "MlflowClient", run_id: str, model_id: str, evidence: Mapping[str, Any]
) -> None:
    """Give the model of a version the metrics of its evidence, and the verdict."""
    now = int(time.time() * 1000)
    write_metrics(client, run_id, list_metrics(evidence), now, model_id=model_id)
    client.set_logged_model_tags(model_id, {VERDICT_TAG: evidence["verdict"]})


def tag_model(client: "MlflowClient", version: Any) -> None:
    """Let the model of a version name the version, so that a search for metrics leads to it."""
    tags = {"plumbline.model": version.name, "plumbline.version": str(version.version)}
    client.set_logged_model_tags(find_model_id(version), tags)


def renew_page(client: "MlflowClient", version: Any, evidence: Mapping[str, Any]) -> None:
    """Let a version that was evaluated again show the new evidence."""
    name, number = version.name, str(version.version)
    model_id = find_model_id(version)
    add_card(client, model_id, evidence)
    link_metrics(client, version.run_id, model_id, evidence)
    client.update_model_version(name, number, build_description(render_card(evidence)))
    client.set_model_version_tag(name, number, VERDICT_TAG, evidence["verdict"])


def find_model_id(version: Any) -> str:
    """Return the id of the model of MLflow that a version was made of."""
    return str(version.model_id or version.source.removeprefix("models:/"))
