"""Bring the records of stages to MLflow: a run for each pass, below it one for each stage.

Two call it: `plumbline run` while it waits for DVC, and a stage at its end where no such run does.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.process.locks import hold
from plumbline.process.running import identify_process, is_running
from plumbline.tracking import mlflow_client, records, store_errors, store_location
from plumbline.tracking.records import FOLDER_TAG, KILLED, PROCESS_TAG, RunRecord
from plumbline.tracking.runs import PARENT_TAG, PASS_TAG, RunWriter, settle_parent

if TYPE_CHECKING:
    from mlflow import MlflowClient

SWITCH = "PLUMBLINE_TRACKING"
# The variable by which a stage knows the process that waits for it, and delivers.
DELIVERER = "PLUMBLINE_DELIVERER"
LOCK = Path(".plumbline/delivery.lock")
PAUSE_S = 3.0  # between two looks for news
PATIENCE_S = 5.0  # with a store that takes no record
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeliveryReport:
    """How many runs were brought to MLflow, and how many wait, with the reason."""

    num_runs: int = 0
    num_waiting: int = 0
    problem: str | None = None

    def warn(self) -> None:
        """Say what waits, why, and what to do."""
        if self.problem and self.num_waiting:
            log.warning("tracking: %s", describe_waiting(self))


def describe_waiting(report: DeliveryReport) -> str:
    """Describe what waits, why, and what to do."""
    runs = "1 run waits" if report.num_waiting == 1 else f"{report.num_waiting} runs wait"
    return (
        f"{runs} in {records.FOLDER} ({report.problem}); "
        "the next run brings them to MLflow, or `plumbline track`"
    )


def is_on() -> bool:
    """Whether stages are tracked."""
    return os.environ.get(SWITCH) != "off"


def deliver(*, closes_dead: bool = False) -> DeliveryReport:
    """Bring all that waits to MLflow, which is imported only if something does.

    One process at a time does so. A record that MLflow does not take does not hold up the others.
    What this checkout left RUNNING, and no process goes on with, is closed then; where nothing
    waits only if `closes_dead`.
    """
    try:
        with lock_delivery():
            return _deliver(list_waiting(), closes_dead=closes_dead)
    except (OSError, ValueError) as error:  # of files here; a stage does not fail because of it
        return DeliveryReport(0, 1, str(error))


def list_waiting() -> list[Path]:
    """List the records of which MLflow does not have all, the oldest first."""
    paths = [path for path in records.FOLDER.rglob("*.json") if not records.is_delivered(path)]
    return sorted(paths, key=lambda path: records.read_record(path).started)


def begin_run(client: "MlflowClient", record: RunRecord) -> str:
    """Begin the run of a record now, and return its id; raises what MLflow raises."""
    with lock_delivery():
        return RunWriter(client, record).begin()


@contextmanager
def lock_delivery() -> Iterator[None]:
    """Hold a kernel lock, which ends with the process that delivers."""
    path = store_location.find_home() / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        hold(file)
        yield


@contextmanager
def deliver_meanwhile() -> Iterator[None]:
    """Bring runs and curves to MLflow while stages are at work in the block, and the rest after it.

    Stages know by a variable that they need not do so themselves.
    """
    if not is_on():
        yield
        return
    os.environ[DELIVERER] = identify_process(os.getpid())
    is_over = threading.Event()
    thread = threading.Thread(target=_deliver_until, args=(is_over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        del os.environ[DELIVERER]
        is_over.set()
        thread.join()


def is_delivered_by_another() -> bool:
    """Whether a process that waits for this one brings its runs to MLflow."""
    return is_running(os.environ.get(DELIVERER, ""))


def _deliver(waiting: list[Path], *, closes_dead: bool) -> DeliveryReport:
    if not (waiting or closes_dead):
        return DeliveryReport()
    problem = store_location.find_problem()
    if problem:
        return DeliveryReport(0, len(waiting), problem)
    num_runs = 0
    with mlflow_client.send_once():
        try:
            client = mlflow_client.connect()
            for path in waiting:
                start = time.monotonic()
                failure = _try_record(client, path)
                problem = problem or failure
                num_runs += failure is None
                if failure and time.monotonic() - start > PATIENCE_S:
                    break  # a server that does not answer would let each record wait
            close_dead_runs(client)
        except Exception as error:
            if not store_errors.is_store_error(error):
                raise
            problem = problem or store_errors.shorten_error(error)
    return DeliveryReport(num_runs, len(waiting) - num_runs, problem)


def _try_record(client: "MlflowClient", path: Path) -> str | None:
    """Write one record, and note that MLflow has it; return why not, if that failed."""
    mark = records.describe_state(path)  # what is written to it after this is for the next time
    record = records.read_record(path)
    try:
        RunWriter(client, record).write()
    except Exception as error:
        if not store_errors.is_store_error(error):
            raise
        return store_errors.shorten_error(error)
    if path == record.path:
        records.note_delivered(path, mark)
    else:  # of an earlier pass
        path.unlink()
    return None


def close_dead_runs(client: "MlflowClient") -> None:
    """Mark runs of this checkout as KILLED whose process is gone.

    Those of another checkout may be of another container, where processes have other ids.
    """
    experiments = [each.experiment_id for each in client.search_experiments()]
    query = f"attributes.status = 'RUNNING' and tags.host = '{socket.gethostname()}'"
    for run in client.search_runs(experiments, query, max_results=100):
        tags = run.data.tags
        if PASS_TAG in tags or not is_of_this_checkout(tags.get(FOLDER_TAG, "")):
            continue
        if not is_running(tags.get(PROCESS_TAG, "")):
            client.set_terminated(run.info.run_id, KILLED)
            if PARENT_TAG in tags:
                settle_parent(client, run.info.experiment_id, tags[PARENT_TAG], None)


def is_of_this_checkout(folder: str) -> bool:
    """Whether FOLDER_TAG names this checkout or a copy of it in which DVC runs an experiment."""
    home = store_location.find_home()
    return bool(folder) and (Path(folder) == home or home / ".dvc/tmp/exps" in Path(folder).parents)


def _deliver_until(is_over: threading.Event) -> None:
    """Deliver again and again, and once more at the end; warn once."""
    has_warned = False
    is_last = False
    while not is_last:
        is_last = is_over.wait(PAUSE_S)
        report = deliver()
        if report.problem and not has_warned:
            report.warn()
            has_warned = True
