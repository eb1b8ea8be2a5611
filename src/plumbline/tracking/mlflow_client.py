"""The one place that connects to MLflow, with the settings that every connection needs."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from plumbline.tracking import store_location

if TYPE_CHECKING:
    from mlflow import MlflowClient

SQLITE = "sqlite:///"
CONNECT_TIMEOUT_S = 10
RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
ENVIRONMENT = {  # with MLflow's own defaults a client waits minutes for an unreachable server
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    RETRIES: "2",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",  # it would sleep for the hours that it says
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_UV_AUTO_DETECT": "false",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


def connect() -> "MlflowClient":
    """Make an MLflow client; raises MlflowException or OSError if the store cannot be used.

    Of a database on a server, SQLAlchemyError at once: MLflow itself would try for two minutes.
    """
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    for name in ("mlflow.store.db.utils", "sqlalchemy.pool"):  # a traceback beside what they raise
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # each request sent again
    uri = store_location.find_uri()
    _reach_database(uri)
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    if uri.startswith(SQLITE):
        database = store_location.locate_database(uri)
        database.parent.mkdir(parents=True, exist_ok=True)
        if not database.exists():  # SQLite's own no group may write, whatever the umask says
            database.touch()
    store_location.follow_move()
    return mlflow.MlflowClient()


def get_or_create_experiment(client: "MlflowClient", name: str) -> str:
    """Return the id of the experiment of that name; create it if there is none."""
    experiment = client.get_experiment_by_name(name)
    if experiment:
        return str(experiment.experiment_id)
    artifacts = None  # where the server puts them
    if store_location.find_uri().startswith(SQLITE):
        folder = (store_location.find_home() / store_location.DATABASE).parent
        artifacts = (folder / store_location.ARTIFACTS).as_uri()
    return str(client.create_experiment(name, artifacts))


@contextmanager
def send_once() -> Iterator[None]:
    """Send each request of the block once, also where no answer comes.

    MLflow sends it again, though the server may have done it: what the request creates would be
    there twice. Who asks again has to look first what is there.
    """
    before = os.environ.get(RETRIES)
    os.environ[RETRIES] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[RETRIES]
        else:
            os.environ[RETRIES] = before


def _reach_database(uri: str) -> None:
    if uri.startswith("postgresql"):
        from sqlalchemy import create_engine

        engine = create_engine(uri, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
        engine.connect().close()
        engine.dispose()
