"""What a killed register left in MLflow is removed by the next one; what others own is not."""

import os
import shutil
import socket
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.running import identify_process
from plumbline.registry import promotion, registrations
from plumbline.registry.desk import open_desk
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.tracking import mlflow_client

DEAD = f"{2**22 + 1} 1 0"
pytestmark = pytest.mark.filterwarnings("ignore")


def register_half(client: Any, experiment: str, **changes: str) -> tuple[str, Path]:
    """A run of register as a kill leaves it, and the folder of the bundle that it copied."""
    tags = {
        "plumbline.stage": "register",
        "plumbline.folder": str(Path.cwd()),
        "plumbline.process": DEAD,
        "host": socket.gethostname(),
        BUNDLE_TAG: "b",
    }
    run_id = client.create_run(experiment, tags=tags | changes).info.run_id
    model = client.create_logged_model(experiment, "closed", run_id)
    folder = Path(unquote(urlparse(model.artifact_location).path))
    folder.mkdir(parents=True)
    (folder / "MLmodel").touch()
    return run_id, folder


def test_only_what_a_killed_register_of_this_checkout_left_is_removed(
    tracked_line: tuple[Params, Task],
) -> None:
    client = mlflow_client.connect()
    experiment = mlflow_client.get_or_create_experiment(client, "line")
    killed, copy = register_half(client, experiment)
    alive = {"plumbline.process": identify_process(os.getpid())}
    early, no_copy = register_half(client, experiment)  # killed before it copied anything
    shutil.rmtree(no_copy.parent)
    running, own_copy = register_half(client, experiment, **alive)
    other, other_copy = register_half(client, experiment, **{"plumbline.folder": "/another"})
    unnamed, unnamed_copy = register_half(client, experiment)  # before the journal had the version
    done, version_copy = register_half(client, experiment)
    client.create_registered_model("line")
    for run in (done, unnamed):
        [model] = client.search_logged_models([experiment], f"source_run_id = '{run}'")
        address = f"models:/{model.model_id}"
        tags = {BUNDLE_TAG: "b"}
        client.create_model_version("line", address, run, tags, model_id=model.model_id)
    with open_desk("line") as desk:
        promotion.record_ruling(desk, "registered", "1", "b", "e", "it is better.")
        registrations.remove_abandoned(desk)
    copies = (copy, own_copy, unnamed_copy, other_copy, version_copy)
    assert [path.exists() for path in copies] == [False, False, False, True, True]
    assert [each.version for each in client.search_model_versions("name = 'line'")] == [1]
    runs = (killed, early, unnamed, running, other, done)
    stages = [client.get_run(run).info.lifecycle_stage for run in runs]
    assert stages == ["deleted", "deleted", "deleted", "active", "active", "active"]
