"""Bring the records of stages to MLflow: a run for each pass, below it one for each stage.

Two call it: `plumbline run` while it waits for DVC, and a stage at its end where no such run does.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.process.locks import hold
from plumbline.tracking import mlflow_client, store_errors, store_location
from plumbline.tracking.records import FOLDER, KILLED, RUNNING, RunRecord, read_record
from plumbline.tracking.runs import RunWriter

if TYPE_CHECKING:
    from mlflow import MlflowClient

SWITCH = "PLUMBLINE_TRACKING"
LOCK = Path(".plumbline/delivery.lock")
PAUSE_S = 3.0  # between two looks for news
PATIENCE_S = 5.0  # with a store that takes no record
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeliveryReport:
    """How many runs wait, and why the first of them does."""

    num_waiting: int = 0
    problem: str | None = None

    def warn(self) -> None:
        """Say what waits, if anything does, why, and what to do."""
        if self.num_waiting:
            runs = "1 run waits" if self.num_waiting == 1 else f"{self.num_waiting} runs wait"
            ending = "the next `plumbline run` brings them to MLflow"
            log.warning("tracking: %s in %s (%s); %s", runs, FOLDER, self.problem, ending)


def is_on() -> bool:
    """Whether stages are tracked."""
    return os.environ.get(SWITCH) != "off"


def deliver(shown: dict[Path, int] | None = None) -> DeliveryReport:
    """Bring all that waits to MLflow, which is imported only if something does.

    A record whose run has ended is removed then. One process at a time delivers, and a record that
    MLflow does not take does not hold up the others. `shown` are the times of the records of runs
    that go on, as MLflow has them.
    """
    try:
        with lock_delivery(), mlflow_client.send_once():
            return _deliver({} if shown is None else shown)
    except (OSError, ValueError) as error:  # of files here; a stage does not fail because of it
        return DeliveryReport(1, str(error))


def list_waiting() -> list[RunRecord]:
    """List the records that MLflow does not have, the oldest first."""
    return [read_record(path) for path in sorted(FOLDER.glob("*.json"))]


def close_killed() -> None:
    """Record the end of the runs of stages that were killed, now that no other is at work."""
    with contextlib.suppress(OSError, ValueError):  # of a file that `deliver` names
        for record in list_waiting():
            if record.status == RUNNING:
                record.write(KILLED, record.facts)


def begin_run(client: "MlflowClient", record: RunRecord) -> str:
    """Begin the run of a record now, and return its id; raises what MLflow raises."""
    with lock_delivery(), mlflow_client.send_once():
        return RunWriter(client, record).id


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
    """Bring runs and curves to MLflow while stages work in the block, and the rest after it.

    Stages know by the id of the run that they need not do so themselves.
    """
    is_over = threading.Event()
    thread = threading.Thread(target=_deliver_until, args=(is_over,), daemon=True)
    if is_on():
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.is_alive():
            thread.join()


def _deliver(shown: dict[Path, int]) -> DeliveryReport:
    times = {path: path.stat().st_mtime_ns for path in FOLDER.glob("*.json")}
    waiting = [each for each in list_waiting() if shown.get(each.path) != times.get(each.path, 0)]
    client, problem, num_waiting = None, None, len(waiting)
    for record in waiting:
        start = time.monotonic()
        try:
            client = client or mlflow_client.connect()
            RunWriter(client, record).write()
        except Exception as error:
            if not store_errors.is_store_error(error):
                raise
            problem = problem or store_errors.shorten_error(error)
            if time.monotonic() - start > PATIENCE_S:
                break  # a server that does not answer would let each record wait
            continue
        num_waiting -= 1
        if record.status == RUNNING:
            shown[record.path] = times.get(record.path, 0)
        else:
            record.path.unlink()
    return DeliveryReport(num_waiting, problem)


def _deliver_until(is_over: threading.Event) -> None:
    """Deliver again and again, and once more at the end; what waits then is said."""
    shown: dict[Path, int] = {}
    while not is_over.wait(PAUSE_S):
        deliver(shown)
    close_killed()
    deliver().warn()
