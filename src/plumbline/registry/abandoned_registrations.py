"""Remove what a killed `register` of this checkout left in MLflow: runs and copies of bundles."""

import logging
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.tracking import store_errors, store_location
from plumbline.tracking.processes import is_running
from plumbline.tracking.run_search import FOLDER_TAG, PROCESS_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

QUERY = "tags.`plumbline.stage` = 'register'"
MAX_RUNS = 1000
log = logging.getLogger(__name__)


def remove_abandoned_registrations(client: "MlflowClient", name: str) -> None:
    """Delete copies of bundles without a version, and runs that never got one.

    Only those of `register` in this checkout, whose lock the caller holds, are looked at. What
    cannot be removed is logged: it takes room, and stops nothing.
    """
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return
    versions = client.search_model_versions(f"name = '{name}'")
    for run in client.search_runs([experiment.experiment_id], QUERY, max_results=MAX_RUNS):
        if not _is_own(run):
            continue
        try:
            _remove_copies(client, experiment.experiment_id, run, versions)
            has_version = any(version.run_id == run.info.run_id for version in versions)
            was_copied = BUNDLE_TAG in run.data.tags
            if was_copied and not has_version and not is_running(run.data.tags[PROCESS_TAG]):
                client.delete_run(run.info.run_id)
        except Exception as error:
            if not (store_errors.is_store_error(error) or isinstance(error, NotImplementedError)):
                raise
            reason = store_errors.shorten_error(error)
            log.warning("what a killed register left in MLflow is not removed (%s)", reason)


def _is_own(run: "Run") -> bool:
    tags = run.data.tags
    here = str(store_location.find_home())
    is_here = tags.get(FOLDER_TAG) == here and PROCESS_TAG in tags
    return is_here and tags.get("host", socket.gethostname()) == socket.gethostname()


def _remove_copies(
    client: "MlflowClient", experiment_id: str, run: "Run", versions: list[Any]
) -> None:
    """Delete the models that a run logged and that no version is made of."""
    query = f"source_run_id = '{run.info.run_id}'"
    for model in client.search_logged_models([experiment_id], query):
        if not any(model.model_id in (version.model_id or version.source) for version in versions):
            _delete_files(model)
            client.delete_logged_model(model.model_id)


def _delete_files(model: "LoggedModel") -> None:
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    folder = Path(unquote(urlsplit(model.artifact_location).path)).parent
    if model.artifact_location.startswith("file:") and folder.name == model.model_id:
        # MLflow would leave the folder around the files, and fail where there are none.
        if folder.exists():
            shutil.rmtree(folder)
    else:
        get_artifact_repository(model.artifact_location).delete_artifacts()
