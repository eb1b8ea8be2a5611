"""Close the runs that nothing will end: their process is dead, and the spool does not know them."""

import os
import socket
from collections.abc import Collection
from typing import TYPE_CHECKING

from plumbline.tracking.run_writer import KEY_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient


def close_abandoned_runs(
    client: "MlflowClient", experiment_id: str, spooled: Collection[str]
) -> None:
    """Mark runs of this machine as KILLED, but not those of the passes `spooled`."""
    query = f"attributes.status = 'RUNNING' and tags.host = '{socket.gethostname()}'"
    for run in client.search_runs([experiment_id], query, max_results=100):
        name = run.data.tags.get(KEY_TAG, "").partition(",")[0]
        pid = run.data.tags.get("pid", "")
        if name not in spooled and not (pid.isdecimal() and _is_alive(int(pid))):
            client.set_terminated(run.info.run_id, "KILLED")


def _is_alive(pid: int) -> bool:
    """Whether a process of that id is running on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is running, for another user
    return pid > 0
