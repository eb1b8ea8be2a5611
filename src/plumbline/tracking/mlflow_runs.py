"""MLflow tracking that never brings training down: a thread does the writing, and a lost server costs one warning."""

import logging
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.lineage import lineage
from plumbline.contract.params import Params

if TYPE_CHECKING:
    from mlflow import MlflowClient

QUEUE_SIZE = 10_000
FLUSH_TIMEOUT_S = 300.0
MAX_SOURCE = 60_000
ENVIRONMENT = {  # MLflow's own defaults would wait for minutes on a server that is away
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_UV_AUTO_DETECT": "false",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}
log = logging.getLogger(__name__)


class Log:
    """One MLflow run as the stages see it. Every method returns at once and none raises."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[Callable[[MlflowClient, str], None] | None] = queue.Queue(
            QUEUE_SIZE
        )
        self._lost = 0

    def params(self, values: Mapping[str, Any]) -> None:
        """Record parameters; nested ones under dotted keys."""
        from_dict = dict(_flat(values))
        self._put(lambda client, run: [client.log_param(run, k, v) for k, v in from_dict.items()])

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record metrics at `step`."""
        now = int(time.time() * 1000)

        def job(client: "MlflowClient", run: str) -> None:
            from mlflow.entities import Metric

            client.log_batch(run, [Metric(k, float(v), now, step) for k, v in values.items()])

        self._put(job)

    def tag(self, key: str, value: str) -> None:
        """Record a tag."""
        self._put(lambda client, run: client.set_tag(run, key, value))

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Upload a file."""
        self._put(lambda client, run: client.log_artifact(run, str(path), folder))

    def dataset(self, name: str, digest: str, facts: str) -> None:
        """Record which data the run learns from; `facts` is data/source.json."""

        def job(client: "MlflowClient", run: str) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            tags = [InputTag("mlflow.data.context", "training")]
            entity = Dataset(
                name, digest[:36], "plumbline", facts[:MAX_SOURCE]
            )  # within what a store holds
            client.log_inputs(run, [DatasetInput(entity, tags)])

        self._put(job)

    def _put(self, job: Callable[["MlflowClient", str], Any]) -> None:
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._lost += 1

    def _write(self, params: Params, name: str, status: list[str]) -> None:
        """The thread: open the run, write what comes, close it. The first failure ends it with one warning."""
        from mlflow.exceptions import MlflowException

        try:
            client = connect()
            run = _open(client, params.registry.model, name)
            monitor = _system_metrics(run)
            while job := self._jobs.get():
                job(client, run)
            monitor.finish()
            client.set_terminated(run, status[0])
        except (MlflowException, OSError) as error:
            log.warning(
                "tracking stopped (%s); the run goes on, and nothing it needs is lost",
                first_line(error),
            )


def uri() -> str:
    """The tracking store: MLFLOW_TRACKING_URI, or SQLite below mlruns/ of this checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{_home()}/mlruns/mlflow.db"


def connect() -> "MlflowClient":
    """An MLflow client on `uri()`. MlflowException or OSError where the store cannot be used."""
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    if uri().startswith("sqlite:///"):
        Path(uri().removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    mlflow.set_tracking_uri(uri())
    mlflow.set_registry_uri(uri())
    return mlflow.MlflowClient()


def experiment(client: "MlflowClient", name: str) -> str:
    """The id of the experiment of that name, made where there is none."""
    found = client.get_experiment_by_name(name)
    if found:
        return str(found.experiment_id)
    local = uri().startswith("sqlite:///")
    return str(
        client.create_experiment(name, (_home() / "mlruns/artifacts").as_uri() if local else None)
    )


@contextmanager
def run(params: Params, name: str) -> Iterator[Log]:
    """An MLflow run around a block: FINISHED when it ends well, KILLED on Ctrl-C or SIGTERM, FAILED on an error.

    Of the processes that torchrun starts the first one writes for all.
    """
    handle, status = Log(), ["KILLED"]
    if os.environ.get("RANK", "0") != "0":
        yield handle
        return
    handle.params(params.model_dump(mode="json", exclude={"candidates"}))
    for key, value in lineage().items():
        handle.tag(key, value)
    writer = threading.Thread(
        target=handle._write, args=(params, name, status), daemon=True, name="tracking"
    )
    writer.start()
    try:
        yield handle
        status[0] = "FINISHED"
    except Exception:
        status[0] = "FAILED"
        raise
    finally:
        handle._jobs.put(None)
        writer.join(FLUSH_TIMEOUT_S)
        if handle._lost or writer.is_alive():
            log.warning("tracking was too slow: some metrics of %r are missing in MLflow", name)


def first_line(error: Exception) -> str:
    """What an MLflow error says, without the page that follows."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _open(client: "MlflowClient", experiment_name: str, name: str) -> str:
    """Start a run, and close those that a killed process of this machine left open."""
    ours = experiment(client, experiment_name)
    host = socket.gethostname()
    query = f"attributes.status = 'RUNNING' and tags.host = '{host}'"
    for old in client.search_runs([ours], query, max_results=100):
        if not _alive(int(old.data.tags.get("pid", "0"))):
            client.set_terminated(old.info.run_id, "KILLED")
    tags = {"host": host, "pid": str(os.getpid()), "mlflow.user": os.environ.get("USER", "")}
    return str(client.create_run(ours, run_name=name, tags=tags).info.run_id)


def _system_metrics(run_id: str) -> Any:
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    monitor = SystemMetricsMonitor(run_id, sampling_interval=5)
    monitor.start()
    return monitor


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return pid > 0


def _home() -> Path:
    """The checkout's root; DVC runs queued experiments in copies below its .dvc/tmp/exps."""
    here = Path.cwd().resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
