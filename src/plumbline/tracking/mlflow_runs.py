"""MLflow tracking that never stops a training.

A thread does the writing, and an unreachable server costs one warning.
"""

import logging
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.lineage import collect_lineage
from plumbline.contract.params import Params
from plumbline.tracking import mlflow_client, store_location

if TYPE_CHECKING:
    from mlflow import MlflowClient

QUEUE_SIZE = 10_000
FLUSH_TIMEOUT_S = 300.0
MAX_SOURCE = 60_000  # characters that every store can hold
MAX_DIGEST = 36
log = logging.getLogger(__name__)

Job = Callable[["MlflowClient", str], Any]  # what to do with a client and the id of the run


class RunLog:
    """One MLflow run as the stages see it.

    Every method that a stage calls (`log_...`, `set_tag`) returns at once, and none raises.
    """

    def __init__(self) -> None:
        self.status: Literal["KILLED", "FINISHED", "FAILED"] = "KILLED"  # at the end of the run
        self._jobs: queue.Queue[Job | None] = queue.Queue(QUEUE_SIZE)
        self._num_lost = 0

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Record parameters; nested ones under dotted keys."""
        flat = dict(_flatten(values))

        def write_params(client: "MlflowClient", run_id: str) -> None:
            for key, value in flat.items():
                client.log_param(run_id, key, value)

        self._enqueue(write_params)

    def log_metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record metrics at `step`."""
        now = int(time.time() * 1000)

        def write_metrics(client: "MlflowClient", run_id: str) -> None:
            from mlflow.entities import Metric

            metrics = [Metric(key, float(value), now, step) for key, value in values.items()]
            client.log_batch(run_id, metrics)

        self._enqueue(write_metrics)

    def set_tag(self, key: str, value: str) -> None:
        """Record a tag."""
        self._enqueue(lambda client, run_id: client.set_tag(run_id, key, value))

    def log_artifact(self, path: Path, folder: str | None = None) -> None:
        """Upload a file."""
        self._enqueue(lambda client, run_id: client.log_artifact(run_id, str(path), folder))

    def log_dataset(self, name: str, digest: str, facts: str) -> None:
        """Record which data the run learns from; `facts` is data/source.json."""

        def write_dataset(client: "MlflowClient", run_id: str) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            tags = [InputTag("mlflow.data.context", "training")]
            dataset = Dataset(name, digest[:MAX_DIGEST], "plumbline", facts[:MAX_SOURCE])
            client.log_inputs(run_id, [DatasetInput(dataset, tags)])

        self._enqueue(write_dataset)

    def write(self, params: Params, name: str) -> None:
        """Open the run, write what comes until `close`, and end the run with `status`.

        This is what the thread does. The first failure ends it with one warning.
        """
        from mlflow.exceptions import MlflowException

        try:
            client = mlflow_client.connect()
            run_id = _start_run(client, params.registry.model, name)
            monitor = _start_system_metrics(run_id)
            while job := self._jobs.get():
                job(client, run_id)
            monitor.finish()
            client.set_terminated(run_id, self.status)
        except (MlflowException, OSError) as error:
            log.warning(
                "tracking stopped (%s); the run goes on, and nothing it needs is lost",
                store_location.shorten_error(error),
            )

    def close(self, writer: threading.Thread, name: str) -> None:
        """Wait until `writer` has written everything; warn if it cannot."""
        self._jobs.put(None)
        writer.join(FLUSH_TIMEOUT_S)
        if self._num_lost or writer.is_alive():
            log.warning("tracking was too slow: some metrics of %r are missing in MLflow", name)

    def _enqueue(self, job: Job) -> None:
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._num_lost += 1


@contextmanager
def track_run(params: Params, name: str) -> Iterator[RunLog]:
    """Track a block as an MLflow run.

    Its status is FINISHED at a normal end, KILLED after Ctrl-C or SIGTERM, FAILED after an error.
    Of the processes that torchrun starts, the first one writes for all.
    """
    run_log = RunLog()
    if os.environ.get("RANK", "0") != "0":
        yield run_log
        return
    run_log.log_params(params.model_dump(mode="json", exclude={"candidates"}))
    for key, value in collect_lineage().items():
        run_log.set_tag(key, value)
    writer = threading.Thread(
        target=run_log.write, args=(params, name), daemon=True, name="tracking"
    )
    writer.start()
    try:
        yield run_log
        run_log.status = "FINISHED"
    except Exception:
        run_log.status = "FAILED"
        raise
    finally:
        run_log.close(writer, name)


def _start_run(client: "MlflowClient", experiment_name: str, name: str) -> str:
    """Start a run, and close those that a killed process of this machine left open."""
    experiment_id = mlflow_client.get_or_create_experiment(client, experiment_name)
    host = socket.gethostname()
    query = f"attributes.status = 'RUNNING' and tags.host = '{host}'"
    for old in client.search_runs([experiment_id], query, max_results=100):
        if not _is_alive(int(old.data.tags.get("pid", "0"))):
            client.set_terminated(old.info.run_id, "KILLED")
    tags = {"host": host, "pid": str(os.getpid()), "mlflow.user": os.environ.get("USER", "")}
    return str(client.create_run(experiment_id, run_name=name, tags=tags).info.run_id)


def _start_system_metrics(run_id: str) -> Any:
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    monitor = SystemMetricsMonitor(run_id, sampling_interval=5)
    monitor.start()
    return monitor


def _is_alive(pid: int) -> bool:
    """Whether a process of that id is running on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is running, for another user
    return pid > 0


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
