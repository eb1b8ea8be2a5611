"""A real MLflow server of a test's own on loopback."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.checkouts import find_python
from tests.support.loopback import find_free_port, wait_for_server


@contextmanager
def run_mlflow_server(folder: Path, backend: str) -> Iterator[str]:
    """Run `mlflow server` on the database `backend` while the block runs; give its address.

    Artifacts and the log of the server are in `folder`.
    """
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    command = [
        str(Path(find_python()).with_name("mlflow")), "server", "--host", "127.0.0.1",
        "--port", str(port), "--workers", "1", "--backend-store-uri", backend,
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    with (folder / "server.log").open("a") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
        try:
            wait_for_server(f"{address}/health")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=600)
