"""Find the version of a bundle, and remove what a killed `register` left in MLflow."""

import logging
import socket
from typing import TYPE_CHECKING, Any

from plumbline.process.running import is_running
from plumbline.registry.desk import Desk
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.tracking import store_errors, store_location
from plumbline.tracking.records import FOLDER_TAG, PROCESS_TAG

if TYPE_CHECKING:
    from mlflow.entities import Run

QUERY = "tags.`plumbline.stage` = 'register'"
MAX_RUNS = 1000
log = logging.getLogger(__name__)


def find_version(desk: Desk, bundle: str) -> Any | None:
    """Find the last version with this bundle that the journal says was registered.

    A version that the journal does not name is none of ours, whatever its tags say.
    """
    numbers = set()
    for entry in desk.entries:
        if entry.bundle == bundle and (entry.moves or entry.action in ("registered", "keep")):
            numbers.add(entry.version)
    query = f"name = '{desk.model}' and tags.`{BUNDLE_TAG}` = '{bundle}'"
    versions = desk.client.search_model_versions(query)
    for version in sorted(versions, key=lambda version: int(version.version), reverse=True):
        if str(version.version) in numbers:
            return version
    return None


def remove_abandoned(desk: Desk) -> None:
    """Remove what `register` of this checkout left: versions that the journal does not name, copies
    of bundles without a version, and runs that never got one.

    The caller holds the lock of the checkout. What cannot be removed is logged: it takes room, and
    stops nothing.
    """
    client, name = desk.client, desk.model
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return
    named = {entry.version for entry in desk.entries}
    versions = client.search_model_versions(f"name = '{name}'")
    for run in client.search_runs([experiment.experiment_id], QUERY, max_results=MAX_RUNS):
        if not _is_own(run):
            continue
        try:
            kept = [version for version in versions if version.run_id == run.info.run_id]
            if not any(str(version.version) in named for version in kept):
                for version in [each for each in kept if BUNDLE_TAG in each.tags]:
                    client.delete_model_version(name, version.version)
                    kept.remove(version)
            _remove_copies(desk, experiment.experiment_id, run, kept)
            was_copied = BUNDLE_TAG in run.data.tags
            if was_copied and not kept and not is_running(run.data.tags[PROCESS_TAG]):
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


def _remove_copies(desk: Desk, experiment_id: str, run: "Run", versions: list[Any]) -> None:
    """Delete the models that a run logged and that none of its versions is made of."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    query = f"source_run_id = '{run.info.run_id}'"
    for model in desk.client.search_logged_models([experiment_id], query):
        if not any(model.model_id in (version.model_id or version.source) for version in versions):
            get_artifact_repository(model.artifact_location).delete_artifacts()
            desk.client.delete_logged_model(model.model_id)
