"""Find runs and models in MLflow by the tags that name them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.tracking.mlflow_client import send_once

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY_TAG = "plumbline.run"  # names a run by its place in the spool: what is found is not made again
PARENT_TAG = "mlflow.parentRunId"
FOLDER_TAG = "plumbline.folder"  # of the checkout, or of its copy for an experiment
PROCESS_TAG = "plumbline.process"  # id, start and boot of the process that logs it
OUTPUT_TAG = "plumbline.output"
BUNDLE_TAG = "plumbline.bundle"


def format_key(folder: Path) -> str:
    """Return the KEY_TAG of a run: its pass and its place in that, from its folder in the spool."""
    return f"{folder.parent.name}, {folder.name}"


def parse_pass(key: str) -> str:
    """Return the pass that a KEY_TAG names: of a run of a stage, or of a pass, which is its own."""
    return key.partition(",")[0]


def ensure_run(
    client: "MlflowClient", experiment_id: str, name: str, start_ms: int, tags: Mapping[str, str]
) -> str:
    """Return the run that has this KEY_TAG, or create it."""
    query = f"tags.`{KEY_TAG}` = '{tags[KEY_TAG]}'"
    page = client.search_runs([experiment_id], query, max_results=1)
    if page:
        return str(page[0].info.run_id)
    with send_once():
        run = client.create_run(experiment_id, start_ms, dict(tags), name)
    return str(run.info.run_id)


def find_model(
    client: "MlflowClient", experiment_id: str, digest: str, run_id: str | None = None
) -> Any | None:
    """Find the newest model that train logged of a bundle; of `run_id`, if that is given."""
    query = f"tags.`{BUNDLE_TAG}` = '{digest}' AND tags.`{KEY_TAG}` != ''"
    if run_id:
        query += f" AND source_run_id = '{run_id}'"
    page = client.search_logged_models([experiment_id], query, max_results=1)
    return page[0] if page else None
