"""Close the runs that nothing will end: their process is dead, and the spool does not know them."""

import socket
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.tracking import store_location
from plumbline.tracking.processes import is_running
from plumbline.tracking.run_search import FOLDER_TAG, KEY_TAG, PROCESS_TAG, parse_pass

if TYPE_CHECKING:
    from mlflow import MlflowClient


def close_abandoned_runs(
    client: "MlflowClient", experiment_id: str, spooled: Collection[str]
) -> None:
    """Mark runs of this checkout as KILLED, but not those of the passes `spooled`.

    Runs of another checkout are spooled there, and their processes may be of another container.
    """
    query = f"attributes.status = 'RUNNING' and tags.host = '{socket.gethostname()}'"
    for run in client.search_runs([experiment_id], query, max_results=100):
        name = parse_pass(run.data.tags.get(KEY_TAG, ""))
        process = run.data.tags.get(PROCESS_TAG, "")
        if not is_of_this_checkout(run.data.tags.get(FOLDER_TAG, "")):
            continue
        if name not in spooled and not is_running(process):
            client.set_terminated(run.info.run_id, "KILLED")


def is_of_this_checkout(folder: str) -> bool:
    """Whether FOLDER_TAG names this checkout or a copy of it in which DVC runs an experiment."""
    home = store_location.find_home()
    return bool(folder) and (Path(folder) == home or home / ".dvc/tmp/exps" in Path(folder).parents)
